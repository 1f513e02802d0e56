// Per worker: where its time went, whom it waited for, and its memory. Tables,
// so that they can be read aloud; the bars are their pictures.

const MOST_ROWS = 128;
const TIME_PARTS = ['forward', 'backward', 'recompute', 'update'];
const WAIT_WORDS = {
  activation: 'waits for activations',
  gradient: 'waits for gradients',
  sum: 'waits for sums',
  vote: 'waits for the vote',
  rest: 'waits for a core, or overhead',
  ended: 'nothing left to do',
};

function legendOf(entries) {
  return element(
      'ul', {class: 'legend'},
      ...entries.map(
          ([colour, text]) => element(
              'li', {},
              element(
                  'span',
                  {class: 'swatch', style: {background: `var(--${colour})`}}),
              text)));
}

// `parts`: [colour, size]; `total` fills the bar.
function stackedBar(parts, total, isThin) {
  const bar = element(
      'div', {class: isThin ? 'bar thin' : 'bar', 'aria-hidden': 'true'});
  for (const [colour, size] of parts) {
    if (size > 0)
      bar.append(element('i', {
        style: {width: `${100 * size / total}%`, background: `var(--${colour})`}
      }));
  }
  return bar;
}

function timeParts(time) {
  const parts = TIME_PARTS.map((name) => [name, time[name]]);
  for (const reason of Object.keys(WAIT_WORDS)) {
    const sum = time.waits.filter((wait) => wait[0] === reason)
                    .reduce((total, wait) => total + wait[2], 0);
    parts.push([reason, sum]);
  }
  return parts;
}
const totalOf = (parts) => parts.reduce((sum, part) => sum + part[1], 0);
const busyOf = (time) => TIME_PARTS.reduce((sum, name) => sum + time[name], 0);

function longestWait(run, time, total) {
  const wait =
      time.waits.find(([reason]) => reason !== 'rest' && reason !== 'ended');
  if (!wait || wait[2] < total * 1e-3) return '-';
  const [reason, worker, length] = wait;
  const whom = worker >= 0 ? `${workerName(run, worker)} (${reason})` :
      reason === 'vote' ? 'the vote' :
                          'gradient sums';
  return `${whom}, ${formatShare(length / total)}`;
}

// A heading that starts with - is left out on narrow screens.
function headRow(...texts) {
  return element(
      'thead', {},
      element(
          'tr', {}, ...texts.map((text) => element('th', {
                                   scope: 'col',
                                   class: text.startsWith('-') ? 'wide' : false,
                                   text: text.replace(/^-/, '')
                                 }))));
}

function buildWorkers(section, run) {
  const isMeasured = run.measuredTimes.length > 0;
  const times = isMeasured ? run.measuredTimes : run.plannedTimes;
  if (times.length === 0) return;
  const body = element('tbody');
  times.slice(0, MOST_ROWS).forEach((time, worker) => {
    const parts = timeParts(time);
    const total = totalOf(parts) || 1;
    const planned = run.plannedTimes[worker % (run.plannedTimes.length || 1)];
    const plannedParts = planned ? timeParts(planned) : [];
    body.append(element(
        'tr', {}, element('th', {scope: 'row', text: workerName(run, worker)}),
        element(
            'td', {class: 'bar-cell'}, stackedBar(parts, total),
            isMeasured && planned ?
                stackedBar(plannedParts, totalOf(plannedParts) || 1, true) :
                null),
        element('td', {
          class: 'number',
          'data-label': 'computes',
          text: formatShare(busyOf(time) / total)
        }),
        element('td', {class: 'wide', text: longestWait(run, time, total)})));
  });
  const colours = new Set(times.flatMap(
      (time) => timeParts(time)
                    .filter((part) => part[1] > 0)
                    .map((part) => part[0])));
  const words = Object.assign(
      {
        forward: 'forward',
        backward: 'backward',
        recompute: 'recompute',
        update: 'update'
      },
      WAIT_WORDS);
  const caption = isMeasured ?
      'Share of the time of all traced steps; the thin bar is the plan' :
      'As planned: no step was traced';
  section.append(element(
      'div', {class: 'card'},
      barTable(
          caption, headRow('worker', 'time', 'computes', '-waits most for'),
          body),
      legendOf(Object.entries(words).filter(([name]) => colours.has(name))),
      leftOut(times.length)));
}

function barTable(caption, head, body) {
  return element(
      'div', {class: 'scroll rows'},
      element(
          'table', {class: 'bars'}, element('caption', {text: caption}), head,
          body));
}

function leftOut(count) {
  return count > MOST_ROWS ? element('p', {
    class: 'note',
    text: `${count - MOST_ROWS} more workers are not shown.`
  }) :
                             null;
}

const BYTE_PARTS = [
  ['weights', 'run-0'], ['gradients', 'run-1'], ['optimizer', 'run-5'],
  ['activations', 'run-2'], ['other', 'rest']
];

function buildMemory(section, run) {
  const {measuredBytes: measured, predictedBytes: predicted} = run;
  const count = Math.max(measured.length, predicted.length);
  if (count === 0) return false;
  const total = (bytes) =>
      BYTE_PARTS.reduce((sum, [name]) => sum + bytes[name], 0);
  const most = Math.max(...measured, ...predicted.map(total));
  const body = element('tbody');
  for (let worker = 0; worker < Math.min(count, MOST_ROWS); ++worker) {
    const plan = predicted.length ? predicted[worker % predicted.length] : null;
    const bytes = measured[worker];
    const bar = stackedBar(
        plan ? BYTE_PARTS.map(([name, colour]) => [colour, plan[name]]) : [],
        most);
    if (bytes)
      bar.append(element('u', {style: {left: `${99.5 * bytes / most}%`}}));
    const error = plan && bytes ? total(plan) / bytes - 1 : null;
    body.append(element(
        'tr', {}, element('th', {scope: 'row', text: workerName(run, worker)}),
        element('td', {class: 'bar-cell'}, bar), element('td', {
          class: 'number',
          'data-label': 'predicted',
          text: plan ? formatBytes(total(plan)) : '-'
        }),
        element('td', {
          class: 'number',
          'data-label': 'measured',
          text: bytes ? formatBytes(bytes) : '-'
        }),
        element('td', {
          class: 'number wide',
          text: error === null ? '' : formatChange(error)
        })));
  }
  section.append(element(
      'div', {class: 'card'},
      barTable(
          'Most memory of each worker: the bar is predicted, the line measured',
          headRow('worker', '', 'predicted', 'measured', '-error'), body),
      legendOf([
        ...BYTE_PARTS.map(([name, colour]) => [colour, name]),
        ['ink', 'measured']
      ]),
      element('p', {
        class: 'note',
        text:
            'Predicted from the model\'s shape and the schedule\'s order, without measuring.'
      }),
      leftOut(count)));
  return true;
}
