'use strict';
// Elements and numbers. Text from the run reaches the page through textContent
// only, never as markup.

function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name === 'text')
      made.textContent = value;
    else if (name.startsWith('on'))
      made.addEventListener(name.slice(2), value);
    else if (name === 'style')
      Object.assign(made.style, value);
    else if (value === true)
      made.setAttribute(name, '');
    else if (value !== false && value != null)
      made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

// The section of this name, shown, with its link in the list of sections.
function openSection(name) {
  const section = document.getElementById(name);
  section.hidden = false;
  document.querySelector(`.sections a[href="#${name}"]`).hidden = false;
  while (section.children.length > 1) section.lastChild.remove();
  return section;
}

// 10,000. A formatter is kept, as making one costs more than using it.
const grouping = new Intl.NumberFormat('en');
const formatCount = (value) => grouping.format(value);

function formatNumber(value) {
  if (value == null || !isFinite(value)) return '-';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    return value.toExponential(2).replace('e+', 'e');
  }
  return size >= 1e4 ? formatCount(Math.round(value)) :
                       String(Number(value.toPrecision(4)));
}

function formatTime(value, unit) {
  if (unit !== 's') return formatNumber(value);
  const size = Math.abs(value);
  if (size >= 1 || size === 0) return `${Number(value.toPrecision(4))} s`;
  if (size >= 1e-3) return `${Number((value * 1e3).toPrecision(4))} ms`;
  return `${Number((value * 1e6).toPrecision(3))} us`;
}

function formatBytes(value) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

// The blank before the sign does not break.
const formatShare = (share) => `${(100 * share).toFixed(1)}\u00a0%`;

// A difference with its sign, or 0 % if it rounds to that.
function formatChange(share) {
  const percent = Math.round(100 * share);
  return `${percent > 0 ? '+' : ''}${percent}\u00a0%`;
}

// Sums of differences: how the data stores ascending numbers.
function accumulate(differences) {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}

// Index of the first entry of an ascending list that is at least `value`.
function lowerBound(list, value, key = (entry) => entry) {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (key(list[middle]) < value)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

// About `count` round numbers from `from` to `to`.
function roundTicks(from, to, count) {
  const span = to - from;
  if (!(span > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(span / count));
  const distance =
      [1, 2, 5, 10].find((m) => span / (m * power) <= count) * power;
  const ticks = [];
  const first = Math.ceil(from / distance - 1e-9);
  for (let i = first; i * distance <= to + span * 1e-9; ++i) {
    ticks.push(Number((i * distance).toPrecision(12)));
  }
  return ticks;
}
