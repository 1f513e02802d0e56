// A step's events, decoded and found again: what the timelines draw from.

const OP_WORDS = {
  F: 'forward',
  B: 'backward',
  I: 'input gradient',
  W: 'weight gradient',
  R: 'recompute',
  U: 'update',
  f: 'activation sent',
  b: 'gradient sent',
  G: 'gradient sum',
  N: 'vote',
};
const isCompute = (op) => 'FBIWRU'.includes(op);
const isMessage = (op) => op === 'f' || op === 'b';

class StepEvents {
  // `stored`: as page/timeline.cc writes it; times in millionths.
  constructor(stored) {
    this.title = stored.title;
    this.kind = stored.kind;
    this.makespan = stored.makespan;
    this.workers = stored.workers;
    this.workersLeftOut = stored.workersLeftOut;
    this.messagesLeftOut = stored.messagesLeftOut;
    this.ops = stored.ops;
    this.row = accumulate(stored.rows);
    this.pipe = stored.pipes;
    this.stage = stored.stages;
    this.micro = stored.micros;
    this.other = stored.others;
    this.cause =
        stored.causes.map((distance, i) => distance === 0 ? -1 : i + distance);
    this.decodeTimes(stored);
    this.path = stored.path;
    this.onPath = new Set(stored.path);
    this.sortIntoRows();
  }

  decodeTimes(stored) {
    const tick = stored.makespan / 1e6;
    this.start = new Float64Array(this.ops.length);
    this.end = new Float64Array(this.ops.length);
    let ticks = 0;
    for (let i = 0; i < this.ops.length; ++i) {
      if (i > 0 && this.row[i] !== this.row[i - 1]) ticks = 0;
      ticks += stored.starts[i];
      this.start[i] = ticks * tick;
      this.end[i] = (ticks + stored.lengths[i]) * tick;
    }
  }

  // Events of a row lie in order of start; sums may overlap, computes do not.
  sortIntoRows() {
    const lists = () => Array.from({length: this.workers}, () => []);
    this.computes = lists();
    this.sums = lists();
    this.messages = [];
    for (let i = 0; i < this.ops.length; ++i) {
      if (isCompute(this.ops[i]))
        this.computes[this.row[i]].push(i);
      else if (isMessage(this.ops[i]))
        this.messages.push(i);
      else
        this.sums[this.row[i]].push(i);
    }
    this.pipes = 1 + this.pipe.reduce((a, b) => Math.max(a, b), 0);
  }

  // The event of a row at a time, or null.
  at(list, time, slack) {
    const after = lowerBound(list, time, (i) => this.start[i]);
    let best = null;
    for (const place of [after - 1, after]) {
      const i = list[place];
      if (i === undefined) continue;
      if (time < this.start[i] - slack || time > this.end[i] + slack) continue;
      if (best === null || this.end[i] >= time) best = i;
    }
    return best;
  }

  label(i) {
    const op = this.ops[i];
    if (op === 'G') return `sum ${this.other[i]}`;
    if (op === 'U' || op === 'N') return op;
    return op + this.micro[i];
  }

  // What the event is and what it waited for, in a sentence or two.
  describe(i, unit, nameOfWorker) {
    const op = this.ops[i];
    const parts = [`${OP_WORDS[op]}`];
    if (op === 'G') parts.push(`of group ${this.other[i]}`);
    if (this.micro[i] >= 0 && op !== 'G')
      parts.push(`of micro-batch ${this.micro[i]}`);
    if (this.stage[i] >= 0) parts.push(`stage ${this.stage[i]}`);
    if (this.pipe[i] >= 0 && this.pipes > 1) parts.push(`pipe ${this.pipe[i]}`);
    parts.push(`on ${nameOfWorker(this.row[i])}`);
    if (isMessage(op)) parts.push(`to ${nameOfWorker(this.other[i])}`);
    let text = parts.join(', ');
    text = text[0].toUpperCase() + text.slice(1);
    text += `: ${formatTime(this.start[i], unit)} to ${
        formatTime(
            this.end[i],
            unit)}, takes ${formatTime(this.end[i] - this.start[i], unit)}.`;
    text += this.describeWait(i, unit, nameOfWorker);
    if (this.onPath.has(i)) text += ' On the critical path.';
    return text;
  }

  describeWait(i, unit, nameOfWorker) {
    const list = this.computes[this.row[i]];
    const place = list.indexOf(i);
    const freeSince = place > 0 ? this.end[list[place - 1]] : 0;
    const waited = this.start[i] - freeSince;
    const cause = this.cause[i];
    if (place < 0 || !(waited > this.makespan * 1e-4)) return '';
    const text = ` The worker waited ${formatTime(waited, unit)} before it`;
    if (cause < 0 || this.end[cause] <= freeSince) return `${text}.`;
    if (this.ops[cause] === 'G')
      return `${text}, for the sum of group ${this.other[cause]}.`;
    if (this.ops[cause] === 'N') return `${text}, for the vote.`;
    if (!isMessage(this.ops[cause])) return `${text}.`;
    const what = this.ops[cause] === 'f' ? 'the activation' : 'the gradient';
    return `${text}, for ${what} from ${nameOfWorker(this.row[cause])}.`;
  }
}
