// The visible part of an axis that several canvases share: zoom, pan, keys.

class Range {
  constructor(from, to) {
    this.listeners = [];
    this.setLimits(from, to);
  }
  // Of the whole axis; what is visible follows if all of it was.
  setLimits(from, to) {
    const showsAll = this.low === undefined ||
        (this.from === this.low && this.to === this.high);
    this.low = from;
    this.high = to > from ? to : from + 1;
    if (showsAll)
      this.show(this.low, this.high);
    else
      this.show(this.from, this.to);
  }
  show(from, to) {
    const full = this.high - this.low;
    const span = Math.min(full, Math.max(to - from, full * 1e-5));
    from = Math.min(Math.max(from, this.low), this.high - span);
    this.from = from;
    this.to = from + span;
    for (const listener of this.listeners) listener();
  }
  // `at`: the place that stays where it is.
  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }
  pan(share) {
    const distance = share * (this.to - this.from);
    const bounded =
        Math.max(this.low - this.from, Math.min(this.high - this.to, distance));
    this.show(this.from + bounded, this.to + bounded);
  }
  reset() {
    this.show(this.low, this.high);
  }
  onChange(listener) {
    this.listeners.push(listener);
  }

  // + - 0: true if the key was one of these.
  takeKey(key) {
    if (key === '+' || key === '=')
      this.zoom(0.5);
    else if (key === '-')
      this.zoom(2);
    else if (key === '0' || key === 'Escape')
      this.reset();
    else
      return false;
    return true;
  }
}

// Wheel and pinch over a canvas. The wheel scrolls the page unless Ctrl or
// Shift is held or the canvas has the focus. `toValue` turns a pixel into an
// axis value.
function addZooming(canvas, range, toValue) {
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.shiftKey &&
        document.activeElement !== canvas) {
      return;
    }
    event.preventDefault();
    const turned = event.deltaY || event.deltaX;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) {
      range.pan(event.deltaX / canvas.clientWidth);
    } else {
      range.zoom(Math.exp(turned * 0.002), toValue(event.offsetX));
    }
  }, {passive: false});
  const fingers = new Map();
  let distance = 0;
  canvas.addEventListener('pointermove', (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.offsetX);
    if (fingers.size !== 2) return;
    const [a, b] = [...fingers.values()];
    const now = Math.max(20, Math.abs(a - b));
    if (distance > 0) range.zoom(distance / now, toValue((a + b) / 2));
    distance = now;
  });
  canvas.addEventListener('pointerdown', (event) => {
    fingers.set(event.pointerId, event.offsetX);
    distance = 0;
  });
  for (const name of ['pointerup', 'pointercancel', 'pointerleave']) {
    canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
  }
  return {isPinching: () => fingers.size > 1};
}

function zoomButtons(range) {
  const button = (text, label, act) => element(
      'button',
      {type: 'button', text, 'aria-label': label, title: label, onclick: act});
  return [
    button('+', 'Zoom in', () => range.zoom(0.5)),
    button('-', 'Zoom out', () => range.zoom(2)),
    button('All', 'Show all', () => range.reset()),
  ];
}
