// Puts the page together, and keeps it up to date if a server feeds it.

const page = JSON.parse(document.getElementById('data').textContent);

function readRun(stored) {
  const run = Object.assign({}, stored);
  run.curves = {};
  for (const [key, curve] of Object.entries(stored.curves))
    run.curves[key] = readCurve(curve);
  run.hostOf = new Map(stored.hosts);
  return run;
}

let runs = page.runs.map(readRun);
let curveBoard;
let chosen = 0;  // the run of the sections below the step

function showState() {
  const status = document.getElementById('status');
  const texts = [...new Set(runs.map((run) => run.state || 'unknown'))];
  status.textContent = texts.join(', ');
  status.dataset.state = texts.length === 1 ? texts[0] : '';
}

function showNotes() {
  const list = document.getElementById('notes');
  list.textContent = '';
  for (const run of runs) {
    for (const note of run.notes) {
      list.append(element(
          'li', {text: runs.length > 1 ? `${run.name}: ${note}` : note}));
    }
  }
  list.hidden = list.children.length === 0;
}

function buildChosen() {
  const run = runs[chosen];
  const workers = openSection('workers');
  if (runs.length > 1) {
    const select = element(
        'select', {
          onchange: () => {
            chosen = Number(select.value);
            buildChosen();
            document.querySelector('#workers select').focus();
          }
        },
        ...runs.map(
            (each, index) => element(
                'option',
                {value: index, selected: index === chosen, text: each.name})));
    workers.append(element(
        'div', {class: 'tools'}, element('label', {}, 'Run', select),
        element('span', {
          class: 'hint',
          text: 'Workers, memory and files are of this run.'
        })));
  }
  buildWorkers(workers, run);
  const closeUnless = (name, isThere) => {
    if (isThere) return;
    document.getElementById(name).hidden = true;
    document.querySelector(`.sections a[href="#${name}"]`).hidden = true;
  };
  closeUnless('workers', run.plannedTimes.length > 0 || runs.length > 1);
  closeUnless('memory', buildMemory(openSection('memory'), run));
  closeUnless('files', buildFiles(openSection('files'), run));
}

function buildCurves() {
  curveBoard = new CurveBoard(runs, page.curveNames);
  if (curveBoard.charts.length > 0) curveBoard.build(openSection('curves'));
}

function buildAll() {
  views = [];
  showState();
  showNotes();
  buildCurves();
  if (runs.some((run) => run.timelines.length > 0))
    new TimelineBoard(runs).build(openSection('step'));
  buildChosen();
  if (runs.some((run) => run.marks.length > 0))
    buildEvents(openSection('events'), runs);
}

buildAll();
if (page.live) followRun();
