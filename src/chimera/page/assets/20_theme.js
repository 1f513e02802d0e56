// Colours of the theme for canvases, and the button that changes it.

const theme = (() => {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  let colours = new Map();
  let listeners = [];

  function changed() {
    colours = new Map();
    for (const listener of listeners) listener();
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
    button.setAttribute('aria-label', `Switch to the ${isDark() ? 'light' : 'dark'} theme`);
  }
  button.hidden = false;
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    label();
    changed();
  });
  systemIsDark.addEventListener('change', () => { label(); changed(); });
  // Paper is light, and canvases print as they were last drawn.
  let before;
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = 'light';
    changed();
  });
  addEventListener('afterprint', () => {
    if (before) document.documentElement.dataset.theme = before;
    else delete document.documentElement.dataset.theme;
    changed();
  });
  addEventListener('resize', changed);
  label();
  return {
    colour,
    // Calls listener() when all must be drawn anew: other colours, another size.
    onChange: (listener) => listeners.push(listener),
    forgetAll: () => { listeners = []; },
  };
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
