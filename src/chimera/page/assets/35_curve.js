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

function markColour(kind) {
  const colours = {
    fault: 'bad',
    warning: 'warn',
    save: 'good',
    resume: 'good',
    replan: 'accent'
  };
  return theme.colour(colours[kind] || 'soft');
}
