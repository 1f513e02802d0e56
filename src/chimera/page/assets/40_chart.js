// The curves: one chart each, all with the same visible steps and the same
// marks. Every point is a real one of the run (groups keep lowest and highest).

const CHART_HEIGHT = 190;
const CHART_LEFT = 58;
const CHART_BOTTOM = 20;
const CHART_TOP = 10;

class Chart {
  constructor(name, board) {
    this.name = name;
    this.board = board;
    this.scale = name.unit === '%' ? 100 : 1;
    this.output = element('output');
    this.canvas = element('canvas', {tabindex: '0', role: 'img'});
    this.figure = element(
        'figure', {class: 'card chart'},
        element(
            'figcaption', {},
            element(
                'b', {text: name.title + (name.unit ? ` (${name.unit})` : '')}),
            this.output),
        this.canvas);
    this.draw = drawOnce(() => this.drawNow());
    this.listen();
    addView(this);
  }

  listen() {
    const {range} = this.board;
    const zooming = addZooming(this.canvas, range, (x) => this.stepAt(x));
    let start = null;
    this.canvas.addEventListener('pointerdown', (event) => {
      start = event.offsetX;
    });
    this.canvas.addEventListener('pointermove', (event) => {
      const isDragging = start !== null && event.buttons === 1 &&
          event.pointerType === 'mouse' && !zooming.isPinching();
      this.selection = isDragging ? [start, event.offsetX] : null;
      this.board.hover(this.stepAt(event.offsetX));
    });
    this.canvas.addEventListener('pointerup', (event) => {
      const chosen = this.selection;
      start = this.selection = null;
      if (chosen && Math.abs(chosen[1] - chosen[0]) > 5) {
        const [a, b] = chosen.map((x) => this.stepAt(x)).sort((x, y) => x - y);
        range.show(a, b);
      } else if (event.detail === 2) {
        range.reset();
      }
    });
    this.canvas.addEventListener('dblclick', () => range.reset());
    this.canvas.addEventListener('pointerleave', () => {
      start = this.selection = null;
      this.board.hover(null);
    });
    this.canvas.addEventListener('keydown', (event) => {
      const moves = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10};
      if (event.key in moves)
        this.board.moveHover(moves[event.key]);
      else if (!range.takeKey(event.key))
        return;
      event.preventDefault();
    });
  }

  // `width` is kept from the last drawing: asking the canvas costs a layout.
  stepAt(x) {
    const {range} = this.board;
    return range.from +
        (x - CHART_LEFT) / (this.width - CHART_LEFT - 6) *
        (range.to - range.from);
  }
  xOf(step) {
    const {range} = this.board;
    return CHART_LEFT +
        (step - range.from) / (range.to - range.from) *
        (this.width - CHART_LEFT - 6);
  }

  // Of what is visible: [curve, first, last, values] of each shown run.
  visible() {
    const {range} = this.board;
    const lines = [];
    this.board.runs.forEach((run, index) => {
      const curve = run.curves[this.name.key];
      if (!curve || !this.board.isShown[index]) return;
      const first = Math.max(0, lowerBound(curve.steps, range.from) - 1);
      const last =
          Math.min(curve.steps.length, lowerBound(curve.steps, range.to) + 1);
      lines.push({
        curve,
        first,
        last,
        index,
        values: smoothed(curve, this.board.smoothing)
      });
    });
    return lines;
  }

  limits(lines) {
    let low = Infinity;
    let high = -Infinity;
    for (const {curve, first, last} of lines) {
      for (let i = first; i < last; ++i) {
        const value = curve.values[i] * this.scale;
        if (this.isLog && value <= 0) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (!(low <= high)) return null;
    if (this.isLog) [low, high] = [Math.log10(low), Math.log10(high)];
    const room = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
    return [
      low >= 0 && low - room < 0 && !this.isLog ? 0 : low - room, high + room
    ];
  }

  drawNow() {
    if (!this.isSeen) return;
    const context = prepareCanvas(this.canvas, CHART_HEIGHT);
    this.width = this.canvas.clientWidth;
    this.isLog = this.board.isLog && this.name.unit === '';
    const lines = this.visible();
    const limits = this.limits(lines);
    if (!limits) return;
    const bottom = CHART_HEIGHT - CHART_BOTTOM;
    const yOf = (value) => {
      const place = this.isLog ? Math.log10(Math.max(value, 1e-300)) : value;
      return bottom -
          (place - limits[0]) / (limits[1] - limits[0]) * (bottom - CHART_TOP);
    };
    this.drawAxes(context, limits, yOf);
    context.save();
    context.beginPath();
    context.rect(CHART_LEFT, 0, this.width - CHART_LEFT, bottom);
    context.clip();
    this.drawMarks(context);
    for (const line of lines) this.drawLine(context, line, yOf);
    this.drawHover(context, lines, yOf);
    context.restore();
  }

  drawAxes(context, limits, yOf) {
    const {range} = this.board;
    const bottom = CHART_HEIGHT - CHART_BOTTOM;
    context.fillStyle = theme.colour('soft');
    context.strokeStyle = theme.colour('grid');
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const tick of roundTicks(limits[0], limits[1], 5)) {
      const value = this.isLog ? 10 ** tick : tick;
      const y = Math.round(yOf(value)) + 0.5;
      context.beginPath();
      context.moveTo(CHART_LEFT, y);
      context.lineTo(this.width, y);
      context.stroke();
      context.fillText(formatNumber(value), CHART_LEFT - 6, y);
    }
    context.textBaseline = 'top';
    context.textAlign = 'center';
    for (const tick of roundTicks(range.from, range.to, this.width / 110)) {
      if (tick !== Math.round(tick)) continue;
      const x = this.xOf(tick);
      if (x < CHART_LEFT) continue;
      const text = formatCount(tick);
      const most = this.width - context.measureText(text).width / 2;
      context.fillText(text, Math.min(x, most), bottom + 6);
    }
    context.textAlign = 'right';
    context.fillText('step', CHART_LEFT - 14, bottom + 6);
  }

  drawMarks(context) {
    const shown = this.board.runs.filter((run, i) => this.board.isShown[i]);
    const kindsAt = new Map();  // kinds drawn so far, by step
    for (const kind of MARK_KINDS) {
      const marks =
          shown.flatMap((run) => run.marks).filter((mark) => mark[1] === kind);
      context.strokeStyle = context.fillStyle =
          theme.colour(MARKS[kind].colour);
      for (const [step] of marks) {
        const x = Math.round(this.xOf(step)) + 0.5;
        if (x < CHART_LEFT) continue;
        context.globalAlpha = 0.5;
        context.setLineDash([3, 3]);
        context.beginPath();
        context.moveTo(x, 6);
        context.lineTo(x, CHART_HEIGHT - CHART_BOTTOM);
        context.stroke();
        context.setLineDash([]);
        context.globalAlpha = 1;
        const kinds = kindsAt.get(step) ?? new Set();
        kindsAt.set(step, kinds.add(kind));
        // A run that goes on where it failed has both marks at one step.
        drawMark(context, kind, x - MARK_WIDTH * (kinds.size - 1));
      }
    }
  }

  drawLine(context, line, yOf) {
    context.strokeStyle = context.fillStyle =
        theme.colour(`run-${line.index % 8}`);
    const count = line.last - line.first;
    if (count > this.width) {
      this.fillColumns(context, line, yOf);
      return;
    }
    const {curve, values} = line;
    context.lineWidth = count > 300 ? 1 : 1.5;  // thin lines are drawn faster
    context.lineJoin = 'bevel';
    context.beginPath();
    for (let i = line.first; i < line.last; ++i) {
      context.lineTo(this.xOf(curve.steps[i]), yOf(values[i] * this.scale));
    }
    context.stroke();
    context.lineWidth = 1;
    if (count > 40) return;
    for (let i = line.first; i < line.last; ++i) {
      context.beginPath();
      context.arc(
          this.xOf(curve.steps[i]), yOf(values[i] * this.scale), 2.5, 0, 7);
      context.fill();
    }
  }

  // More points than pixels: the area between the lowest and the highest of
  // every three pixels, and its middle. Costs a fraction of a line through all
  // points.
  fillColumns(context, {curve, first, last, values}, yOf) {
    const columns = [];
    const lows = [];
    const highs = [];
    for (let i = first; i < last; ++i) {
      const x = 3 * Math.round(this.xOf(curve.steps[i]) / 3);
      const y = yOf(values[i] * this.scale);
      const at = columns.length - 1;
      if (columns[at] === x) {
        if (y > lows[at]) lows[at] = y;
        if (y < highs[at]) highs[at] = y;
      } else {
        columns.push(x);
        lows.push(y);
        highs.push(y);
      }
    }
    context.beginPath();
    for (let at = 0; at < columns.length; ++at)
      context.lineTo(columns[at], highs[at] - 0.8);
    for (let at = columns.length - 1; at >= 0; --at)
      context.lineTo(columns[at], lows[at] + 0.8);
    context.globalAlpha = 0.3;
    context.fill();
    context.globalAlpha = 1;
    context.beginPath();
    for (let at = 0; at < columns.length; ++at)
      context.lineTo(columns[at], (lows[at] + highs[at]) / 2);
    context.stroke();
  }

  drawHover(context, lines, yOf) {
    if (this.selection) {
      const [a, b] = this.selection;
      context.fillStyle = theme.colour('accent');
      context.globalAlpha = 0.15;
      context.fillRect(Math.min(a, b), 0, Math.abs(a - b), CHART_HEIGHT);
      context.globalAlpha = 1;
    }
    const step = this.board.hovered;
    const places = lines.map(
        ({curve}) => step === null ? curve.values.length - 1 :
                                     this.nearest(curve, step));
    this.say(lines, places, step !== null);
    if (step === null) return;
    const x = Math.round(this.xOf(step)) + 0.5;
    context.strokeStyle = theme.colour('soft');
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, CHART_HEIGHT);
    context.stroke();
    lines.forEach((line, at) => {
      const place = places[at];
      context.fillStyle = theme.colour(`run-${line.index % 8}`);
      context.beginPath();
      context.arc(
          this.xOf(line.curve.steps[place]),
          yOf(line.values[place] * this.scale), 3.5, 0, 7);
      context.fill();
    });
  }

  nearest(curve, step) {
    const right =
        Math.min(lowerBound(curve.steps, step), curve.steps.length - 1);
    if (right === 0) return 0;
    return step - curve.steps[right - 1] < curve.steps[right] - step ?
        right - 1 :
        right;
  }

  // The values at these places, beside the title; only if they are others than
  // before, since text costs a layout.
  say(lines, places, hasStep) {
    const key =
        lines
            .map(
                ({curve, index}, at) => `${index}/${curve.steps[places[at]]}/${
                    curve.values[places[at]]}`)
            .join() +
        hasStep;
    if (key === this.said) return;
    this.said = key;
    this.output.textContent = '';
    if (hasStep && lines.length > 0)
      this.output.append(
          `step ${formatCount(lines[0].curve.steps[places[0]])}  `);
    lines.forEach(({curve, index}, at) => {
      if (lines.length > 1)
        this.output.append(' ', element('span', {
                             class: `swatch run-${index % 8}`,
                             style: {marginRight: '.2rem'}
                           }));
      this.output.append(formatNumber(curve.values[places[at]] * this.scale));
    });
  }

  // "Loss 2.31, 2.4 at step 12", of all runs that are shown.
  wordsAt(step) {
    const values = this.visible().map(({curve}) => {
      const place = this.nearest(curve, step);
      return formatNumber(curve.values[place] * this.scale);
    });
    return `${this.name.title} ${values.join(', ')} at step ${
        Math.round(step)}`;
  }

  // For those who do not see it. Says nothing of what is zoomed to.
  describe() {
    const show = (value) => formatNumber(value * this.scale);
    const texts = this.board.runs.filter((run) => this.name.key in run.curves)
                      .map((run) => {
                        const {steps, values} = run.curves[this.name.key];
                        const low =
                            values.reduce((a, b) => Math.min(a, b), Infinity);
                        const last = values.length - 1;
                        return `${run.name}: ${show(values[0])} at step ${
                            steps[0]}, ${show(values[last])} at step ${
                            steps[last]}, lowest ${show(low)}`;
                      });
    this.canvas.setAttribute(
        'aria-label',
        `${this.name.title}. ${
            texts.join(
                '. ')}. Keys: arrows move, plus and minus zoom, 0 shows all.`);
  }
}
