// All timelines of all runs, which of them are shown, and what is selected.
class TimelineBoard {
  constructor(runs) {
    this.runs = runs;
    this.shows = {sums: true, messages: false, path: true};
    this.selected = null;
    this.panel = null;
    this.isTall = false;
    this.panels = runs.flatMap(
        (run) => run.timelines.map(
            (stored) => ({events: new StepEvents(stored), run, panel: null})));
    this.kinds = Object.keys(STEP_WORDS)
                     .filter(
                         (kind) => this.panels.some(
                             (entry) => entry.events.kind === kind));
    // One run: as planned and as measured. Several: as measured, if they were.
    this.shownKinds = new Set(
        runs.length === 1 ? this.kinds.slice(0, 2) : this.kinds.slice(1, 2));
    if (this.shownKinds.size === 0) this.shownKinds.add(this.kinds[0]);
    this.range = new Range(0, this.longest());
    this.range.onChange(() => this.draw());
  }

  shown() {
    return this.panels.filter(
        (entry) => this.shownKinds.has(entry.events.kind));
  }
  longest() {
    return Math.max(
        1e-12, ...this.shown().map((entry) => entry.events.makespan));
  }
  draw() {
    for (const entry of this.shown()) {
      if (entry.panel) entry.panel.draw();
    }
  }
  select(panel, index) {
    if (this.panel === panel && this.selected === index) return;
    this.panel = panel;
    this.selected = index;
    const {run, events} = panel;
    this.details.textContent = index === null ?
        this.help() :
        events.describe(
            index, run.timeUnit, (worker) => workerName(run, worker));
    this.draw();
  }
  help() {
    return 'Point at a block, or press an arrow key on a timeline, to see what it is and what it waited for. ' +
        'Drag to move, Ctrl and wheel or + and - to zoom, 0 to show all.';
  }

  build(section) {
    this.area = element('div', {class: 'card'});
    this.details =
        element('p', {class: 'details', role: 'status', text: this.help()});
    section.append(
        element(
            'div', {class: 'tools'}, ...this.chips(),
            ...zoomButtons(this.range),
            ...['path', 'messages', 'sums'].map((name) => this.toggle(name)),
            this.tallToggle()),
        this.area);
    this.fill();
  }
  fill() {
    this.area.textContent = '';
    for (const entry of this.shown()) {
      entry.panel =
          entry.panel || new TimelinePanel(entry.events, entry.run, this);
      this.area.append(entry.panel.figure);
    }
    this.area.append(this.details, this.legend());
    this.range.setLimits(0, this.longest());
    this.draw();
  }
  toggle(name) {
    const words = {
      path: 'Critical path',
      messages: 'Messages',
      sums: 'All-reduces and votes'
    };
    const box = element('input', {
      type: 'checkbox',
      checked: this.shows[name],
      onchange: () => {
        this.shows[name] = box.checked;
        this.draw();
      }
    });
    return element('label', {}, box, words[name]);
  }
  // Only where rows are too small for labels.
  tallToggle() {
    if (this.panels.every(
            (entry) => entry.events.workers * TALL_ROW <= ALL_ROWS))
      return null;
    const box = element('input', {
      type: 'checkbox',
      onchange: () => {
        this.isTall = box.checked;
        for (const entry of this.panels) {
          if (entry.panel) entry.panel.setHeight();
        }
        this.draw();
      }
    });
    return element('label', {}, box, 'Tall rows');
  }
  // Which steps are shown, of all runs.
  chips() {
    return this.kinds.map((kind) => {
      const chip = element('button', {
        type: 'button',
        class: 'chip',
        'aria-pressed': String(this.shownKinds.has(kind)),
        text: STEP_WORDS[kind],
        onclick: () => {
          if (!this.shownKinds.delete(kind)) this.shownKinds.add(kind);
          chip.setAttribute('aria-pressed', String(this.shownKinds.has(kind)));
          this.fill();
        }
      });
      return chip;
    });
  }
  legend() {
    const items = [];
    const add = (colour, text) => items.push(element(
        'li', {},
        element('span', {class: 'swatch', style: {background: colour}}), text));
    const ops =
        new Set(this.panels.flatMap((entry) => [...new Set(entry.events.ops)]));
    const pipes = Math.min(
        Math.max(1, ...this.panels.map((entry) => entry.events.pipes)),
        PIPE_SHADES.length);
    for (let pipe = 0; pipe < pipes; ++pipe) {
      const suffix = pipes > 1 ? `, pipe ${pipe}` : '';
      add(blockColours('F', pipe)[0], OP_WORDS.F + suffix);
      const backwards =
          ['B', 'I'].filter((op) => ops.has(op)).map((op) => OP_WORDS[op]);
      add(blockColours('B', pipe)[0], backwards.join(' or ') + suffix);
      if (ops.has('W')) add(blockColours('W', pipe)[0], OP_WORDS.W + suffix);
    }
    if (ops.has('R')) add(blockColours('R', 0)[0], OP_WORDS.R);
    if (ops.has('U')) add(blockColours('U', 0)[0], OP_WORDS.U);
    if (ops.has('G')) add('var(--sum)', 'gradient sum (all-reduce)');
    if (ops.has('N')) add('var(--vote)', 'vote of all workers');
    add('var(--path)', 'critical path');
    return element('ul', {class: 'legend'}, ...items);
  }
}

// With its host, if there are several.
function workerName(run, worker) {
  const hosts = new Set(run.hostOf.values());
  const host = hosts.size > 1 && run.hostOf.get(worker);
  return host ? `worker ${worker} (${host})` : `worker ${worker}`;
}
