// All charts, what they show and what the pointer is at.
class CurveBoard {
  constructor(runs, curveNames) {
    this.runs = runs;
    this.isShown = runs.map(() => true);
    this.smoothing = 0;
    this.isLog = false;
    this.hovered = null;
    this.range = new Range(0, this.lastStep());
    this.charts =
        curveNames.filter((name) => runs.some((run) => name.key in run.curves))
            .map((name) => new Chart(name, this));
    this.range.onChange(() => this.draw());
  }
  lastStep() {
    return Math.max(1, ...this.runs.map((run) => run.steps));
  }
  // After points were added.
  grow() {
    this.range.setLimits(0, this.lastStep());
    this.fillStatus();
    for (const chart of this.charts) chart.describe();
    this.draw();
  }
  draw() {
    for (const chart of this.charts) chart.draw();
  }
  hover(step) {
    this.hovered = step;
    this.markText.textContent = step === null ? '' : this.marksNear(step);
    this.draw();
  }
  moveHover(by) {
    const span = this.range.to - this.range.from;
    const now = this.hovered === null ? this.range.from : this.hovered;
    const step = Math.round(now + by * Math.max(1, span / 200));
    this.hover(Math.min(Math.max(step, this.range.from), this.range.to));
    this.spoken.textContent =
        this.charts.map((chart) => chart.wordsAt(this.hovered)).join(', ');
  }
  marksNear(step) {
    const near = (this.range.to - this.range.from) / 120;
    const texts = [];
    this.runs.forEach((run) => {
      for (const [at, kind, text] of run.marks) {
        if (Math.abs(at - step) <= near)
          texts.push(`step ${at}: ${markWord(kind)}: ${text}`);
      }
    });
    return texts.slice(0, 3).join('; ');
  }
  fillStatus() {
    this.status.replaceChildren(
        ...markLegend(this.runs), element('li', {text: this.groupsText()}));
  }
  groupsText() {
    const most = Math.max(
        1,
        ...this.runs.flatMap(
            (run) => Object.values(run.curves).map((curve) => curve.group)));
    if (most === 1) return 'Every step is drawn.';
    return `Of every ${most} steps the lowest and the highest are drawn.`;
  }

  build(section) {
    if (this.charts.length === 0) return;
    const smooth = element('input', {
      type: 'range',
      min: '0',
      max: '0.99',
      step: '0.01',
      value: '0',
      oninput: (event) => {
        this.smoothing = Number(event.target.value);
        this.draw();
      }
    });
    const log = element('input', {
      type: 'checkbox',
      onchange: (event) => {
        this.isLog = event.target.checked;
        this.draw();
      }
    });
    this.markText = element('span', {class: 'hint'});
    this.status = element('ul', {class: 'legend'});
    this.fillStatus();
    this.spoken = element('p', {class: 'skip', 'aria-live': 'polite'});
    section.append(
        element(
            'div', {class: 'tools'}, ...this.chips(),
            ...zoomButtons(this.range), element('label', {}, 'Smooth', smooth),
            element('label', {}, log, 'Log scale'), element('span', {
              class: 'hint wide',
              text: 'Drag to zoom, or Ctrl and wheel; double click shows all'
            }),
            this.markText),
        element(
            'div', {class: 'charts'},
            ...this.charts.map((chart) => chart.figure)),
        this.status, this.spoken);
    for (const chart of this.charts) chart.describe();
    this.draw();
  }
  chips() {
    if (this.runs.length < 2) return [];
    return this.runs.map((run, index) => {
      const chip = element(
          'button', {
            type: 'button',
            class: 'chip',
            'aria-pressed': 'true',
            onclick: () => {
              this.isShown[index] = !this.isShown[index];
              chip.setAttribute('aria-pressed', String(this.isShown[index]));
              this.draw();
            }
          },
          element('span', {class: `swatch run-${index % 8}`}), run.name);
      return chip;
    });
  }
}
