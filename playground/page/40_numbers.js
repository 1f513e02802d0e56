// The numbers of both schemes, side by side.

function pathWords(events) {
  const sums = {compute: 0, messages: 0, 'all-reduces': 0};
  for (const i of events.path) {
    const op = events.ops[i];
    const kind = isCompute(op) ? 'compute' :
        isMessage(op)          ? 'messages' :
                                 'all-reduces';
    sums[kind] += events.end[i] - events.start[i];
  }
  return Object.entries(sums)
      .map(([kind, time]) => `${formatNumber(time)} ${kind}`)
      .join(' + ');
}

function above(value, bound) {
  const rest = value - bound;
  if (Math.abs(rest) < 1e-9 * value) return 'met: no order is faster';
  return `this order is ${(100 * rest / bound).toFixed(1)} % above it`;
}

// [label, text of a result, small text below it or null]
const NUMBER_ROWS = [
  ['Makespan', ({result}) => formatNumber(result.makespan)],
  ['Idle (bubble)', ({result}) => formatShare(result.bubble_ratio)],
  [
    'Lower bound', ({result}) => formatNumber(result.bound),
    ({result}) => above(result.makespan, result.bound)
  ],
  [
    'Period',
    ({result}) => result.steps > 1 ? formatNumber(result.period) : '-',
    ({result}) =>
        result.steps > 1 ? 'what one more step takes' : 'needs at least 2 steps'
  ],
  [
    'Bound of the period',
    ({result}) => result.steps > 1 ? formatNumber(result.period_bound) : '-',
    ({result}) =>
        result.steps > 1 ? above(result.period, result.period_bound) : ''
  ],
  ['Busiest worker computes', ({result}) => formatNumber(result.ideal)],
  ['Critical path', ({panel}) => pathWords(panel.events)],
  [
    'Most activations held',
    ({result}) => formatNumber(
        Math.max(...result.workers.map((w) => w.peak_activations))),
    () => 'by a worker, in D-ths of the model'
  ],
  ['Pipes', ({pipes}) => String(pipes), () => 'copies of the weights'],
];

function numbersTable(sides) {
  const shown = sides.filter((side) => side.result);
  const row = ([label, text, small]) => element(
      'tr', {}, element('th', {scope: 'row', text: label}),
      ...shown.map(
          (side) => element(
              'td', {}, text(side),
              small ? element('small', {text: small(side)}) : null)));
  return element(
      'table', {class: 'facts numbers'},
      element(
          'thead', {},
          element(
              'tr', {}, element('td'),
              ...shown.map(
                  (side) => element('th', {scope: 'col', text: side.title})))),
      element('tbody', {}, ...NUMBER_ROWS.map(row)));
}
