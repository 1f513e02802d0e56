// The setting: what the fields hold, as flags, as an address, as a command.

// [name, label, default, kind]: shared by both schemes. Times are F, I and W as
// the papers name them; the program takes I + W as its backward.
const SHARED_FIELDS = [
  ['depth', 'Workers (D)', '4', 'count'],
  ['micros', 'Micro-batches (N)', '8', 'count'],
  ['steps', 'Steps', '1', 'count'],
  ['forward', 'Forward (F)', '1', 'time'],
  ['input', 'Input grad. (I)', '1', 'time'],
  ['weight', 'Weight grad. (W)', '1', 'time'],
  ['p2p', 'Message delay', '0', 'time'],
  ['allreduce', 'All-reduce', '0', 'time'],
  ['width', 'Copies (W)', '1', 'count'],
  ['sync', 'Sums start', '', ['eager', 'end', 'ddp', 'blocking'], 'eager-opt'],
  ['recompute', 'Recompute', '', ['early', 'late'], 'no'],
];
const SIDE_FIELDS = [
  ['pipes', 'Pipes', '', 'count'],
  ['shape', 'Shape', '', ['linear', 'loop', 'vee', 'wave'], 'default'],
  ['chunks', 'Chunks', '', 'count'],
  ['scale', 'Beyond N = D', '', ['doubling', 'halving'], 'direct'],
  ['cap', 'Cap', '', 'time'],
  ['effort', 'Effort', '', 'time'],
];
const TEXT = '(the text below)';
const NOTHING = '';
const LONGEST_VALUE = 24;

const setting = {
  shared:
      Object.fromEntries(SHARED_FIELDS.map(([name, , value]) => [name, value])),
  sides: [
    {scheme: 'chimera'},
    {scheme: '1f1b'},
  ],
};

// Each scheme begins with its own defaults.
function chooseScheme(side, scheme) {
  side.scheme = scheme;
  for (const [name] of SIDE_FIELDS) delete side[name];
}

function field([name, label, initial, kind, absent], value, onChange) {
  const input = Array.isArray(kind) ?
      element(
          'select', {},
          ...['', ...kind].map(
              (each) =>
                  element('option', {value: each, text: each || absent}))) :
      element('input', {
        type: 'number',
        min: kind === 'count' ? '1' : '0',
        step: kind === 'count' ? '1' : 'any',
        inputmode: kind === 'count' ? 'numeric' : 'decimal',
        placeholder: initial || 'default'
      });
  input.name = name;
  input.value = value || '';
  input.addEventListener('input', () => onChange(name, input.value));
  return element('label', {}, label, input);
}

// 0.1 + 0.2 is 0.3 here, as the user expects.
const tidy = (value) => String(Number(value.toPrecision(12)));

// The flags of one side, as on the command line; only those that are given.
function flagsOf(side) {
  const {shared} = setting;
  const flags = {};
  const isText = side.scheme === TEXT;
  const give = (name, value, usual) => {
    if (value !== '' && value !== undefined && value !== usual)
      flags[name] = value;
  };
  if (!isText) {
    give('scheme', side.scheme);
    give('depth', shared.depth);
    give('micros', shared.micros);
    for (const [name] of SIDE_FIELDS) give(name, side[name]);
    give('width', shared.width, '1');
  } else {
    give('cap', side.cap);
  }
  give('forward', shared.forward, '1');
  const input = Number(shared.input || 1);
  const weight = Number(shared.weight || 1);
  give('backward', tidy(input + weight), '2');
  if (input !== weight) flags['weight-grad'] = tidy(weight);
  give('p2p', shared.p2p, '0');
  give('allreduce', shared.allreduce, '0');
  give('steps', shared.steps, '1');
  give('sync', shared.sync);
  give('recompute', shared.recompute);
  return flags;
}

function commandOf(side) {
  const {scheme, ...flags} = flagsOf(side);
  const words =
      Object.entries(flags).map(([name, value]) => `--${name} ${value}`);
  return [
    'chimera simulate', side.scheme === TEXT ? 'edited.sched' : scheme, ...words
  ].join(' ');
}

// The setting as the part of an address behind #. Values that are usual are
// left out; `vs` names the second scheme, and its fields begin with `vs-`.
function settingAddress() {
  const words = new URLSearchParams();
  const [first, second] = setting.sides;
  words.set('scheme', first.scheme);
  const add = (prefix, fields, values) => {
    for (const [name, , usual] of fields) {
      if (values[name] && values[name] !== usual)
        words.set(prefix + name, values[name]);
    }
  };
  add('', SIDE_FIELDS, first);
  words.set('vs', second.scheme === TEXT ? '' : second.scheme);
  add('vs-', SIDE_FIELDS, second);
  for (const [name] of SHARED_FIELDS) {
    const [, , usual] = SHARED_FIELDS.find(([each]) => each === name);
    if (['depth', 'micros'].includes(name) || setting.shared[name] !== usual)
      words.set(name, setting.shared[name]);
  }
  return `#${words}`;
}

// Takes what is known of an address; the rest is ignored. Values reach fields
// and the scheduler, which refuses what makes no sense, and nothing else.
function readAddress(address, schemeNames) {
  const words = new URLSearchParams(address.replace(/^#/, '').slice(0, 2000));
  if (!words.has('scheme')) return false;
  const known = (name, other) => schemeNames.includes(name) ? name : other;
  const value = (name, kind, usual) => {
    const text = words.get(name);
    if (text === null) return usual;
    if (Array.isArray(kind)) return kind.includes(text) ? text : usual;
    return /^[0-9.eE+-]*$/.test(text) ? text.slice(0, LONGEST_VALUE) : usual;
  };
  for (const [name, , usual, kind] of SHARED_FIELDS)
    setting.shared[name] = value(name, kind, usual);
  setting.sides.forEach((side, index) => {
    const prefix = index === 0 ? '' : 'vs-';
    side.scheme = known(
        words.get(index === 0 ? 'scheme' : 'vs'),
        index === 0 ? 'chimera' : NOTHING);
    for (const [name, , usual, kind] of SIDE_FIELDS)
      side[name] = value(prefix + name, kind, usual);
  });
  return true;
}
