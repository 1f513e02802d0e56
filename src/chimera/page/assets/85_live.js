// A page that a server feeds: asks for what is new once a second.

const ASK_EVERY_MS = 1000;

function updateFacts(run) {
  const headlines = document.getElementById('headlines');
  headlines.textContent = '';
  const cells = new Map();
  for (const table of document.querySelectorAll('#facts table')) {
    for (const row of table.querySelectorAll('tbody tr')) {
      cells.set(
          `${table.dataset.group}/${row.cells[0].textContent}`, row.cells[1]);
    }
  }
  for (const [group, label, value, isHeadline] of run.facts) {
    if (isHeadline)
      headlines.append(element(
          'div', {}, element('dt', {text: label}),
          element('dd', {text: value})));
    const cell = cells.get(`${group}/${label}`);
    if (cell) cell.textContent = value;
  }
}

// Takes the news of a run; true if charts must be made anew.
function takeNews(run, news) {
  run.state = news.state;
  run.steps = news.steps;
  run.facts = news.facts;
  const marksChanged = JSON.stringify(run.marks) !== JSON.stringify(news.marks);
  run.marks = news.marks;
  let hasNewCurve = false;
  for (const [key, stored] of Object.entries(news.curves)) {
    if (key in run.curves) {
      updateCurve(run.curves[key], stored);
    } else {
      run.curves[key] = readCurve(stored);
      hasNewCurve = true;
    }
  }
  if (marksChanged && run.marks.length > 0)
    buildEvents(openSection('events'), runs);
  return hasNewCurve;
}

async function ask(path) {
  const answer = await fetch(page.live + path, {cache: 'no-store'});
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

async function followRun() {
  let version = page.runs[0].version;
  const once = async () => {
    const news =
        await ask(`update.json?version=${version}&from=${runs[0].steps}`);
    if (news.reload) {
      const run = await ask('run.json');
      version = run.version;
      runs = [readRun(run)];
      buildAll();
    } else if (takeNews(runs[0], news)) {
      buildCurves();
    } else {
      curveBoard.grow();
    }
    showState();
    updateFacts(runs[0]);
  };
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    try {
      await once();
    } catch (error) {
      const status = document.getElementById('status');
      status.textContent = 'watch has ended';
      status.dataset.state = '';
    }
  }
}
