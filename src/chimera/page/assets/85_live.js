// A page that a server feeds: asks for what is new once a second.

const ASK_EVERY_MS = 1000;

// The summary, as page/html.cc writes it for one run.
function updateFacts(run) {
  const headlines = document.getElementById('headlines');
  const cards = document.getElementById('facts');
  headlines.textContent = cards.textContent = '';
  const bodies = new Map();
  for (const [group, label, value, isHeadline] of run.facts) {
    if (isHeadline) {
      headlines.append(element(
          'div', {}, element('dt', {text: label}),
          element('dd', {text: value})));
      continue;
    }
    if (!bodies.has(group)) {
      bodies.set(group, element('tbody'));
      cards.append(element(
          'div', {class: 'card'},
          element(
              'table', {class: 'facts'}, element('caption', {text: group}),
              bodies.get(group))));
    }
    bodies.get(group).append(element(
        'tr', {}, element('th', {scope: 'row', text: label}),
        element('td', {text: value})));
  }
}

// Takes the news of a run; true if charts must be made anew.
function takeNews(run, news) {
  run.state = news.state;
  run.steps = news.steps;
  if (JSON.stringify(run.facts) !== JSON.stringify(news.facts)) {
    run.facts = news.facts;
    updateFacts(run);
  }
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
      updateFacts(runs[0]);
    } else if (takeNews(runs[0], news)) {
      buildCurves();
    } else {
      curveBoard.grow();
    }
    showState();
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
