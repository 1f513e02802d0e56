// A curve's points, and the colours of marks.

// A curve's points as the data stores them.
function readCurve(stored) {
  return {
    group: stored.group,
    steps: accumulate(stored.steps),
    values: stored.values.slice()
  };
}

// Replaces the points from `stored.from` on.
function updateCurve(curve, stored) {
  const kept = lowerBound(curve.steps, stored.from);
  curve.steps.length = kept;
  curve.values.length = kept;
  for (const step of accumulate(stored.steps)) curve.steps.push(step);
  for (const value of stored.values) curve.values.push(value);
  curve.group = stored.group;
}

// Mean of the past: kept until the curve or the weight changes.
function smoothed(curve, weight) {
  if (weight === 0) return curve.values;
  const last = curve.values[curve.values.length - 1];
  const key = `${weight}/${curve.values.length}/${last}`;
  if (curve.smoothKey !== key) {
    curve.smoothKey = key;
    curve.smooth = runningMean(curve.values, weight);
  }
  return curve.smooth;
}

// Mean of the past, each step counting `weight` times as much as the next.
function runningMean(values, weight) {
  let mean = 0;
  let trust = 0;
  return values.map((value) => {
    mean = weight * mean + (1 - weight) * value;
    trust = weight * trust + (1 - weight);
    return mean / trust;
  });
}

// Colour and shape of what is marked in the charts; at one step, later ones
// stand to the left.
const MARKS = {
  save: {colour: 'good', word: 'checkpoint', shape: [-4, 0, 4, 0, 0, 7]},
  replan:
      {colour: 'accent', word: 'new plan', shape: [0, 0, 4, 4, 0, 8, -4, 4]},
  resume: {colour: 'accent', word: 'resumed', shape: [-3, 0, 5, 4, -3, 8]},
  warning: {colour: 'warn', word: 'warning', shape: [0, 0, 5, 8, -5, 8]},
  fault: {colour: 'bad', word: 'fault', shape: [-4, 0, 4, 0, 4, 8, -4, 8]},
};
const MARK_KINDS = Object.keys(MARKS);
const MARK_WIDTH = 10;  // pixels

function drawMark(context, kind, x) {
  const {shape} = MARKS[kind];
  context.beginPath();
  for (let i = 0; i < shape.length; i += 2)
    context.lineTo(x + shape[i], shape[i + 1]);
  context.fill();
}

const markWord = (kind) => MARK_KINDS.includes(kind) ? MARKS[kind].word : kind;

// The marks that occur, as entries of a legend.
function markLegend(runs) {
  const kinds = MARK_KINDS.filter(
      (kind) => runs.some((run) => run.marks.some((mark) => mark[1] === kind)));
  return kinds.map((kind) => {
    const {shape, colour} = MARKS[kind];
    const corners = [];
    for (let i = 0; i < shape.length; i += 2)
      corners.push(`${shape[i] + 5}px ${shape[i + 1]}px`);
    const style = {
      clipPath: `polygon(${corners.join()})`,
      background: `var(--${colour})`
    };
    return element(
        'li', {}, element('span', {class: 'mark', style}), markWord(kind));
  });
}
