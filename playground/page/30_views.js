// Timelines and curves of what is held, of both schemes on one time axis.

const SIDE_NAMES = ['A', 'B'];

// The time axis, what is drawn, and what is selected; the panels know it as
// their board.
class Board {
  constructor() {
    this.shows = {sums: true, messages: false, path: true};
    this.selected = null;
    this.panel = null;
    this.isPinned = false;
    this.isTall = false;
    this.runs = [];
    this.range = new Range(0, 1);
    this.range.onChange(() => this.draw());
    this.panels = [];
    this.details =
        element('p', {class: 'details', role: 'status', text: this.help()});
  }
  help() {
    return 'Point at a block to see what it is; click it, or press Enter, to see what it needs (blue) and what needs it (green). ' +
        'Arrow keys go from block to block. Drag to move, Ctrl and wheel or + and - to zoom, 0 to show all.';
  }
  draw() {
    for (const panel of this.panels) panel.draw();
  }
  select(panel, index) {
    if (this.isPinned || (this.panel === panel && this.selected === index))
      return;
    this.show(panel, index);
  }
  show(panel, index) {
    this.panel = panel;
    this.selected = index;
    this.details.textContent =
        index === null ? this.help() : panel.describe(index);
    this.draw();
  }
  // A click holds the selection until the next one.
  pin(panel, index) {
    this.isPinned = index !== null &&
        !(this.isPinned && this.panel === panel && this.selected === index);
    this.show(panel, index);
  }
  forget(panel) {
    if (this.panel !== panel) return;
    this.isPinned = false;
    this.show(panel, null);
    this.panel = null;
  }
}

class ScheduleTimeline extends TimelinePanel {
  constructor(answer, name, board) {
    super(new StepEvents(answer.timeline), {name, timeUnit: ''}, board);
    this.needs = answer.needs;
    this.neededBy = this.needs.map(() => []);
    this.needs.forEach(
        (list, i) => list.forEach((need) => this.neededBy[need].push(i)));
  }
  name() {
    return this.run.name;
  }
  caption() {
    const left = super.caption().split('; ').slice(1);
    return [this.events.title, ...left].join('; ');
  }
  worker(index) {
    return `worker ${index}`;
  }
  describe(index) {
    const short = (i) =>
        `${this.events.label(i)} on worker ${this.events.row[i]}`;
    const list = (indices) => indices.slice(0, 6).map(short).join(', ') +
        (indices.length > 6 ? ` and ${indices.length - 6} more` : '');
    const text = [this.events.describe(index, '', this.worker)];
    const needs = this.computeNeeds(index);
    const neededBy = this.computeNeededBy(index);
    if (needs.length > 0) text.push(`Needs ${list(needs)}.`);
    if (neededBy.length > 0) text.push(`Needed by ${list(neededBy)}.`);
    return text.join(' ');
  }
  // The computes that an event needs: a message stands for what it brings.
  computeNeeds(index) {
    return this.needs[index].flatMap(
        (i) => isMessage(this.events.ops[i]) ? this.needs[i] : [i]);
  }
  computeNeededBy(index) {
    return this.neededBy[index].flatMap(
        (i) => isMessage(this.events.ops[i]) ? this.neededBy[i] : [i]);
  }

  listen() {
    super.listen();
    let down = null;
    this.canvas.addEventListener('pointerdown', (event) => {
      down = event.clientX;
    });
    this.canvas.addEventListener('click', (event) => {
      if (down !== null && Math.abs(event.clientX - down) > 4) return;
      this.board.pin(this, this.eventAt(event.offsetX, event.offsetY));
    });
    this.canvas.addEventListener('keydown', (event) => {
      const {board} = this;
      if (event.key === 'Enter' && board.panel === this &&
          board.selected !== null)
        board.pin(this, board.selected);
    });
  }
  // Arrows move a pinned selection too.
  moveSelection(key) {
    const {board} = this;
    const wasPinned = board.isPinned;
    board.isPinned = false;
    const moved = super.moveSelection(key);
    board.isPinned = wasPinned && board.panel === this;
    return moved;
  }

  drawSelected(context) {
    super.drawSelected(context);
    const {board, events} = this;
    if (board.panel !== this || board.selected === null || !board.isPinned)
      return;
    const line = (from, to, colour) => {
      const y = (i) => (events.row[i] + 0.5) * this.rowHeight;
      context.strokeStyle = theme.colour(colour);
      context.lineWidth = 2.5;
      context.beginPath();
      context.moveTo(this.xOf(events.end[from]), y(from));
      context.lineTo(this.xOf(events.start[to]), y(to));
      context.stroke();
      const other = from === board.selected ? to : from;
      const left = this.xOf(events.start[other]);
      context.strokeRect(
          left, events.row[other] * this.rowHeight + 2,
          Math.max(this.xOf(events.end[other]) - left, 1), this.rowHeight - 4);
    };
    for (const i of this.computeNeeds(board.selected))
      line(i, board.selected, 'accent');
    for (const i of this.computeNeededBy(board.selected))
      line(board.selected, i, 'good');
    context.lineWidth = 1;
  }
}

// What each worker holds: a row per worker, as high as the most of both
// schemes.
class HeldView {
  constructor(answer, name, board, most) {
    this.held = answer.held;
    this.board = board;
    this.most = most;
    this.rowHeight =
        Math.max(12, Math.min(34, Math.floor(420 / this.held.length)));
    this.height = this.held.length * this.rowHeight + AXIS_HEIGHT;
    const peaks = this.held.map((curve) => Math.max(0, ...curve.held));
    this.canvas = element('canvas', {
      role: 'img',
      'aria-label': `Activations held over time, ${
          name}. Most of each worker: ${peaks.map(formatNumber).join(', ')}`
    });
    this.canvas.style.height = `${this.height}px`;
    this.peaks = peaks;
    this.figure = element(
        'figure', {class: 'timeline'},
        element('figcaption', {}, element('b', {text: name}), element('span', {
                  class: 'hint',
                  text: `at most ${
                      formatNumber(Math.max(...peaks))} activations on a worker`
                })),
        element('div', {class: 'rows'}, this.canvas));
    this.draw = drawOnce(() => this.drawNow());
    addZooming(this.canvas, board.range, (x) => this.timeAt(x));
    addView(this);
  }
  drawNow() {
    if (!this.isSeen) return;
    const context = prepareCanvas(this.canvas, this.height);
    this.width = this.canvas.clientWidth;
    this.held.forEach((curve, row) => this.drawRow(context, curve, row));
    this.drawAxis(context);
  }
  drawRow(context, {times, held}, row) {
    const bottom = (row + 1) * this.rowHeight - 1;
    const scale = (this.rowHeight - 3) / this.most;
    context.fillStyle = theme.colour('idle');
    context.fillRect(
        LABEL_WIDTH, row * this.rowHeight + 1, this.width - LABEL_WIDTH,
        this.rowHeight - 2);
    context.save();
    context.beginPath();
    context.rect(LABEL_WIDTH, 0, this.width - LABEL_WIDTH, this.height);
    context.clip();
    context.fillStyle = theme.colour('run-2');
    context.beginPath();
    context.moveTo(this.xOf(0), bottom);
    times.forEach((time, i) => {
      context.lineTo(
          this.xOf(time), bottom - (i > 0 ? held[i - 1] : 0) * scale);
      context.lineTo(this.xOf(time), bottom - held[i] * scale);
    });
    context.lineTo(
        this.xOf(times.length > 0 ? times[times.length - 1] : 0), bottom);
    context.fill();
    context.restore();
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    context.fillStyle = theme.colour('soft');
    context.fillText(
        `P${row}: ${formatNumber(this.peaks[row])}`, LABEL_WIDTH - 4,
        bottom - this.rowHeight / 2);
  }
}
// The same axis as a timeline's.
for (const name of ['timeAt', 'xOf', 'drawAxis'])
  HeldView.prototype[name] = TimelinePanel.prototype[name];
HeldView.prototype.run = {
  timeUnit: ''
};
