// Colours of the theme for canvases, and the button that changes it.

// All that is drawn on canvases: has canvas, draw(), drawNow() and isSeen.
let views = [];

const theme = (() => {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  let colours = new Map();

  function changed() {
    colours = new Map();
    for (const view of views) view.draw();
  }
  // The colour of a CSS variable as a canvas takes it.
  function colour(name) {
    if (!colours.has(name)) {
      probe.style.color = `var(--${name})`;
      colours.set(name, getComputedStyle(probe).color);
    }
    return colours.get(name);
  }

  const button = document.getElementById('theme');
  const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === 'dark' : systemIsDark.matches;
  }
  function label() {
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute(
        'aria-label', `Switch to the ${isDark() ? 'light' : 'dark'} theme`);
  }
  button.hidden = false;
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    label();
    changed();
  });
  systemIsDark.addEventListener('change', () => {
    label();
    changed();
  });
  // Paper is light, and canvases print as they were last drawn.
  let before;
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = 'light';
    colours = new Map();
    for (const view of views) {
      view.isSeen = true;
      view.drawNow();  // there is no frame before the print
    }
  });
  addEventListener('afterprint', () => {
    if (before)
      document.documentElement.dataset.theme = before;
    else
      delete document.documentElement.dataset.theme;
    changed();
  });
  addEventListener('resize', changed);
  label();
  return {colour};
})();

// A canvas as sharp as the screen; gives its context in CSS pixels.
function prepareCanvas(canvas, height) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) ||
      canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11px system-ui, sans-serif';
  return context;
}

// Draws a view when it comes into sight; isSeen says whether it is.
function addView(view) {
  views.push(view);
  new IntersectionObserver(([entry]) => {
    view.isSeen = entry.isIntersecting;
    if (view.isSeen) view.draw();
  }, {rootMargin: '100px'}).observe(view.canvas);
}

// Calls draw() once before the next frame, however often it is asked for.
function drawOnce(draw) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  };
}
