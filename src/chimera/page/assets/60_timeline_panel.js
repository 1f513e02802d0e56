// Timelines: a row per worker, blocks of compute, strips of sums, lines of
// messages, the critical path. All timelines of the page share one time axis.

const LABEL_WIDTH = 44;
const AXIS_HEIGHT = 20;
const MOST_LINES = 4000;
const STEP_WORDS = {
  planned: 'As planned',
  last: 'Last step',
  slowest: 'Slowest step',
  median: 'Median step'
};
const TALL_ROW = 26;
const ALL_ROWS = 540;  // pixels that all rows should fit into
// Light, middle and dark shade of each pipe, as the SVG drawings have them.
const PIPE_SHADES = [
  ['#a9d2f0', '#5fafe0', '#005fa8'],
  ['#fdd590', '#f0a030', '#c05600'],
  ['#b0e0c0', '#5abb90', '#00785a'],
  ['#f2c4dc', '#d787b3', '#963878'],
  ['#f4eea0', '#d7cc4a', '#6e6600'],
  ['#d2cbf2', '#a496dc', '#5842a8'],
  ['#e4cfbc', '#c09470', '#74421c'],
  ['#b0f0f0', '#5cc8d4', '#006674'],
];

function blockColours(op, pipe) {
  const shades = PIPE_SHADES[Math.max(0, pipe) % PIPE_SHADES.length];
  if (op === 'F') return [shades[0], '#141414'];
  if (op === 'R') return ['#c3c9cf', '#141414'];
  if (op === 'W') return [shades[1], '#141414'];
  if (op === 'U') return ['#505862', '#ffffff'];
  return [shades[2], '#ffffff'];
}

class TimelinePanel {
  constructor(events, run, board) {
    this.events = events;
    this.run = run;
    this.board = board;
    this.canvas = element('canvas', {
      tabindex: '0',
      role: 'img',
      'aria-label': `${this.name()}, ${
          this.caption()}. Arrow keys go from block to block, plus and minus zoom, 0 shows all.`
    });
    this.setHeight();
    this.figure = element(
        'figure', {class: 'timeline'},
        element(
            'figcaption', {}, element('b', {text: this.name()}),
            element('span', {class: 'hint', text: this.caption()})),
        element('div', {class: 'rows'}, this.canvas));
    this.draw = drawOnce(() => this.drawNow());
    this.listen();
    addView(this);
  }

  setHeight() {
    const {workers} = this.events;
    this.rowHeight = this.board.isTall ?
        TALL_ROW :
        Math.min(TALL_ROW + 4, Math.max(6, Math.floor(ALL_ROWS / workers)));
    this.height = workers * this.rowHeight + AXIS_HEIGHT;
    this.canvas.style.height = `${this.height}px`;
  }
  name() {
    const prefix = this.board.runs.length > 1 ? `${this.run.name}: ` : '';
    return prefix + this.events.title;
  }
  caption() {
    const {events} = this;
    const texts = [`takes ${formatTime(events.makespan, this.run.timeUnit)}${
        this.run.timeUnit === 's' ? '' : ' units'}`];
    if (events.messagesLeftOut)
      texts.push('messages are left out, there are too many');
    if (events.workersLeftOut > 0)
      texts.push(`${events.workersLeftOut} more workers are left out`);
    return texts.join('; ');
  }

  // `width` is kept from the last drawing: asking the canvas costs a layout.
  timeAt(x) {
    const {range} = this.board;
    return range.from +
        (x - LABEL_WIDTH) / (this.width - LABEL_WIDTH) *
        (range.to - range.from);
  }
  xOf(time) {
    const {range} = this.board;
    return LABEL_WIDTH +
        (time - range.from) / (range.to - range.from) *
        (this.width - LABEL_WIDTH);
  }

  listen() {
    const {range} = this.board;
    const zooming = addZooming(this.canvas, range, (x) => this.timeAt(x));
    let last = null;
    this.canvas.addEventListener('pointerdown', (event) => {
      if (event.pointerType !== 'mouse') return;
      last = event.offsetX;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (last !== null && event.buttons === 1 && !zooming.isPinching()) {
        range.pan((last - event.offsetX) / (this.width - LABEL_WIDTH));
        last = event.offsetX;
      } else {
        this.board.select(this, this.eventAt(event.offsetX, event.offsetY));
      }
    });
    this.canvas.addEventListener('pointerup', () => {
      last = null;
    });
    this.canvas.addEventListener('dblclick', () => range.reset());
    this.canvas.addEventListener('pointerleave', () => {
      if (last === null) this.board.select(this, null);
    });
    this.canvas.addEventListener('keydown', (event) => {
      if (!range.takeKey(event.key) && !this.moveSelection(event.key)) return;
      event.preventDefault();
    });
  }

  eventAt(x, y) {
    const row = Math.floor(y / this.rowHeight);
    if (x < LABEL_WIDTH || row < 0 || row >= this.events.workers) return null;
    const slack = this.timeAt(x + 1.5) - this.timeAt(x);
    const inStrip = y - row * this.rowHeight > this.rowHeight * 0.76;
    const sum = this.events.at(this.events.sums[row], this.timeAt(x), slack);
    if (inStrip && sum !== null) return sum;
    return this.events.at(this.events.computes[row], this.timeAt(x), slack);
  }

  // Arrows go from block to block; the view follows.
  moveSelection(key) {
    const moves = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0]
    };
    if (!(key in moves)) return false;
    const [rows, places] = moves[key];
    const {events} = this;
    const now = this.board.panel === this ? this.board.selected : null;
    let next = events.computes.flat()[0];
    if (now !== null) {
      const row =
          Math.min(Math.max(events.row[now] + rows, 0), events.workers - 1);
      const list = events.computes[row];
      const place = rows === 0 ?
          list.indexOf(now) + places :
          lowerBound(list, events.start[now], (i) => events.start[i]);
      next = list[Math.min(Math.max(place, 0), list.length - 1)];
    }
    if (next === undefined) return true;
    const {range} = this.board;
    if (events.start[next] < range.from || events.end[next] > range.to) {
      range.pan(
          (events.start[next] - (range.from + range.to) / 2) /
          (range.to - range.from));
    }
    this.board.select(this, next);
    return true;
  }

  drawNow() {
    if (!this.isSeen) return;
    const context = prepareCanvas(this.canvas, this.height);
    this.width = this.canvas.clientWidth;
    this.drawRows(context);
    context.save();
    context.beginPath();
    context.rect(
        LABEL_WIDTH, 0, this.width - LABEL_WIDTH, this.height - AXIS_HEIGHT);
    context.clip();
    this.drawBlocks(context);
    if (this.board.shows.sums) {
      for (let row = 0; row < this.events.workers; ++row)
        this.drawSums(context, row);
    }
    if (this.board.shows.messages) this.drawMessages(context);
    if (this.board.shows.path) this.drawPath(context);
    this.drawSelected(context);
    context.restore();
    this.drawAxis(context);
  }

  drawRows(context) {
    const width = this.width;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    for (let row = 0; row < this.events.workers; ++row) {
      const y = row * this.rowHeight;
      context.fillStyle = theme.colour('idle');
      context.fillRect(
          LABEL_WIDTH, y + 0.5, width - LABEL_WIDTH, this.rowHeight - 1);
      if (row % Math.ceil(12 / this.rowHeight) !== 0) continue;
      context.fillStyle = theme.colour('soft');
      context.fillText(
          `P${row}`, LABEL_WIDTH - 8, Math.max(6, y + this.rowHeight / 2));
    }
  }

  // Blocks of one colour are filled together, at whole pixels; a block that
  // shares its pixel with the one before is left out.
  drawBlocks(context) {
    const {events, board} = this;
    const margin = this.rowHeight < 12 ? 0.5 : 2;
    const height = this.rowHeight - 2 * margin -
        (board.shows.sums ? this.stripHeight() : 0);
    const byColour = new Map();
    const labels = [];
    events.computes.forEach((list, row) => {
      const y = row * this.rowHeight + margin;
      let drawnTo = -1;
      for (let place = Math.max(
               0,
               lowerBound(list, board.range.from, (i) => events.start[i]) - 1);
           place < list.length; ++place) {
        const i = list[place];
        if (events.start[i] > board.range.to) break;
        const left = Math.round(this.xOf(events.start[i]));
        const right = Math.round(this.xOf(events.end[i]));
        if (right <= drawnTo || right < LABEL_WIDTH) continue;
        drawnTo = right;
        const [fill, ink] = blockColours(events.ops[i], events.pipe[i]);
        if (!byColour.has(fill)) byColour.set(fill, []);
        byColour.get(fill).push(
            left, y, Math.max(right - left - (right - left > 3 ? 1 : 0), 1));
        const shown = Math.min(right, this.width) - Math.max(left, LABEL_WIDTH);
        if (shown >= 20 && this.rowHeight >= 13) {
          labels.push([
            events.label(i), ink, Math.max(left, LABEL_WIDTH) + shown / 2,
            y + height / 2 + 0.5
          ]);
        }
      }
    });
    for (const [fill, boxes] of byColour) {
      context.fillStyle = fill;
      context.beginPath();
      for (let i = 0; i < boxes.length; i += 3)
        context.rect(boxes[i], boxes[i + 1], boxes[i + 2], height);
      context.fill();
    }
    context.textAlign = 'center';
    for (const [text, ink, x, y] of labels) {
      context.fillStyle = ink;
      context.fillText(text, x, y);
    }
  }

  stripHeight() {
    return Math.max(1.5, this.rowHeight * 0.16);
  }

  drawSums(context, row) {
    const {events, board} = this;
    const height = this.stripHeight();
    const y =
        (row + 1) * this.rowHeight - (this.rowHeight < 12 ? 0.5 : 2) - height;
    for (const i of events.sums[row]) {
      if (events.start[i] > board.range.to || events.end[i] < board.range.from)
        continue;
      context.fillStyle = theme.colour(events.ops[i] === 'N' ? 'vote' : 'sum');
      const left = this.xOf(events.start[i]);
      context.fillRect(
          left, y, Math.max(this.xOf(events.end[i]) - left, 1), height);
    }
  }

  drawMessages(context) {
    const {events, board} = this;
    const visible = events.messages.filter(
        (i) => events.start[i] <= board.range.to &&
            events.end[i] >= board.range.from);
    if (visible.length > MOST_LINES) {
      board.details.textContent =
          `${visible.length} messages are too many to draw: zoom in.`;
      return;
    }
    context.strokeStyle = theme.colour('ink');
    context.globalAlpha = visible.length > 400 ? 0.3 : 0.55;
    context.lineWidth = 1;
    context.beginPath();
    for (const i of visible) {
      if (events.other[i] >= events.workers) continue;
      const down = events.other[i] > events.row[i] ? 1 : -1;
      const from =
          (events.row[i] + 0.5) * this.rowHeight + down * this.rowHeight * 0.15;
      const to = (events.other[i] + 0.5) * this.rowHeight -
          down * this.rowHeight * 0.15;
      context.moveTo(this.xOf(events.start[i]), from);
      context.lineTo(this.xOf(events.end[i]), to);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  drawPath(context) {
    const {events} = this;
    // Below the labels of the blocks.
    const middle = (row) =>
        (row + (this.rowHeight < 20 ? 0.5 : 0.68)) * this.rowHeight;
    context.strokeStyle = theme.colour('path');
    context.lineWidth = 2;
    context.beginPath();
    events.path.forEach((i, at) => {
      const toRow = isMessage(events.ops[i]) ? events.other[i] : events.row[i];
      if (at === 0)
        context.moveTo(this.xOf(events.start[i]), middle(events.row[i]));
      else
        context.lineTo(this.xOf(events.start[i]), middle(events.row[i]));
      context.lineTo(this.xOf(events.end[i]), middle(toRow));
    });
    context.stroke();
    context.lineWidth = 1;
  }

  // The selected block, and more lightly all others of its micro-batch.
  drawSelected(context) {
    const {board, events} = this;
    if (board.selected === null) return;
    const micro = board.panel.events.micro[board.selected];
    const outline = (i, width) => {
      const left = this.xOf(events.start[i]);
      context.lineWidth = width;
      context.strokeStyle = theme.colour('ink');
      context.strokeRect(
          left, events.row[i] * this.rowHeight + 2,
          Math.max(this.xOf(events.end[i]) - left, 1), this.rowHeight - 4);
    };
    if (micro >= 0 && board.panel.run === this.run) {
      for (const list of events.computes) {
        for (const i of list) {
          if (events.micro[i] === micro && events.end[i] >= board.range.from &&
              events.start[i] <= board.range.to)
            outline(i, 1);
        }
      }
    }
    if (board.panel === this) outline(board.selected, 2.5);
    context.lineWidth = 1;
  }

  drawAxis(context) {
    const {range} = this.board;
    const width = this.width;
    context.fillStyle = theme.colour('soft');
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const texts = roundTicks(range.from, range.to, (width - LABEL_WIDTH) / 100);
    for (const tick of texts) {
      const x = this.xOf(tick);
      if (x > width - 20) continue;
      context.fillRect(Math.round(x), this.height - AXIS_HEIGHT, 1, 4);
      context.fillText(
          formatTime(tick, this.run.timeUnit), x,
          this.height - AXIS_HEIGHT + 6);
    }
  }
}
