// Puts the page together.

const SAVED = [
  ['sched', 'sched'], ['json', 'json'], ['csv', 'csv'],
  ['torch-csv', 'torch.csv'], ['svg', 'svg'], ['trace', 'trace.json']
];

class Playground {
  constructor(schemes) {
    this.schemes = schemes;
    this.board = new Board();
    this.sides = setting.sides.map((side, index) => ({
                                     setting: side,
                                     index,
                                     engine: new Engine(60),
                                     asked: '',
                                     answer: null,
                                     result: null,
                                     panel: null,
                                     title: '',
                                     pipes: 0
                                   }));
    this.milliseconds = null;  // of the last computation
    this.isIdle = false;
    this.wanted = 0;  // number of changes so far
    this.update = drawOnce(() => this.updateNow());
    this.buildSetting();
    this.buildTimeline();
    const section = (name) => document.getElementById(name);
    this.numbers = element('div', {class: 'card scroll'});
    this.time = element('p', {class: 'note', id: 'time'});
    section('numbers').append(this.numbers, this.time);
    this.memory = element('div', {class: 'card'});
    section('memory').append(
        this.memory, element('p', {
          class: 'note',
          text:
              'Activations that each worker holds, from the start of a forward to the end of its backward; the number is its most.'
        }));
    this.table = new SchemesTable(section('schemes'), schemes, (name) => {
      chooseScheme(setting.sides[0], name);
      this.fillFields();
      this.changed();
      section('setting').scrollIntoView();
    });
    this.editor = new Editor(section('edit'), (text) => {
      this.text = text;
      this.showText();
    });
    this.buildEditorTools();
    this.changed();
  }

  buildSetting() {
    this.form = element('div', {class: 'card'});
    this.cards = element('div', {class: 'sides'});
    this.command = element(
        'pre', {'aria-label': 'The same on the command line', tabindex: '0'});
    const copied = element('span', {class: 'note', role: 'status'});
    const share = element('button', {
      type: 'button',
      text: 'Copy link',
      title: 'The address of this setting',
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(location.href);
          copied.textContent = 'copied';
        } catch (error) {
          copied.textContent = 'copy the address of this page';
        }
      }
    });
    document.getElementById('setting').append(
        this.form, this.cards,
        element('div', {class: 'command'}, this.command, share, copied));
    this.fillFields();
  }

  // Fills in all fields anew, from the setting.
  fillFields() {
    const shared = (fields) => element(
        'div', {class: 'fields'},
        ...fields.map(
            (each) => field(each, setting.shared[each[0]], (name, value) => {
              setting.shared[name] = value;
              this.changed();
            })));
    this.form.replaceChildren(
        shared(SHARED_FIELDS.slice(0, 8)),
        element(
            'details', {
              open: SHARED_FIELDS.slice(8).some(
                  ([name, , usual]) => setting.shared[name] !== usual)
            },
            element('summary', {text: 'More'}),
            shared(SHARED_FIELDS.slice(8))));
    this.cards.replaceChildren(...this.sides.map((side) => this.card(side)));
  }
  card(side) {
    const {index} = side;
    const names = this.schemes.map(({name}) => name);
    const choices = index === 0 ? names : [NOTHING, ...names, TEXT];
    const select = element(
        'select', {
          'aria-label': `Scheme ${SIDE_NAMES[index]}`,
          onchange: () => {
            chooseScheme(side.setting, select.value);
            this.fillFields();
            this.changed();
            this.cards.children[index].querySelector('select').focus();
          }
        },
        ...choices.map((name) => element('option', {
                         value: name,
                         text: name || '(nothing)',
                         selected: name === side.setting.scheme
                       })));
    side.problem = element('p', {class: 'problem', role: 'alert'});
    side.bar =
        element('progress', {max: '1', value: '0', 'aria-label': 'Search'});
    side.best = element('span');
    side.search = element(
        'div', {class: 'search', hidden: true}, side.bar, side.best,
        element('button', {
          type: 'button',
          text: 'Cancel',
          onclick: () => side.engine.cancel()
        }));
    const scheme = this.schemes.find(({name}) => name === side.setting.scheme);
    const taken = SIDE_FIELDS.filter(
        ([name]) => scheme &&
            (name === 'cap' ||
             (name === 'effort' ? scheme.isPlanned : scheme[name])));
    return element(
        'div', {class: 'card side'},
        element('h3', {}, `${SIDE_NAMES[index]}:`, select),
        element(
            'div', {class: 'fields'},
            ...taken.map(
                (each) => field(
                    each, side.setting[each[0]],
                    (name, value) => {
                      side.setting[name] = value;
                      this.changed();
                    }))),
        this.note(side.setting.scheme, scheme), side.search, side.problem);
  }

  note(name, scheme) {
    const text = scheme ? `${scheme.summary}. Legal: ${scheme.legal}` :
        name === TEXT ? 'The schedule in the field at the end of the page.' :
                        'Choose a scheme to compare with.';
    return element('p', {class: 'note', text});
  }

  buildTimeline() {
    const box = (name, words) => {
      const input = element('input', {
        type: 'checkbox',
        checked: this.board.shows[name],
        onchange: () => {
          this.board.shows[name] = input.checked;
          this.board.draw();
        }
      });
      return element('label', {}, input, words);
    };
    this.area = element('div', {class: 'card'});
    document.getElementById('timeline')
        .append(
            element(
                'div', {class: 'tools'}, ...zoomButtons(this.board.range),
                box('path', 'Critical path'), box('messages', 'Messages'),
                box('sums', 'All-reduces')),
            this.area);
  }

  buildEditorTools() {
    const {editor} = this;
    const format = element(
        'select', {'aria-label': 'Format'},
        ...SAVED.map(([name]) => element('option', {value: name, text: name})));
    const lowered = element('input', {type: 'checkbox'});
    const button = (text, act) =>
        element('button', {type: 'button', text, onclick: act});
    const saver = (side) => button(
        `Save ${SIDE_NAMES[side.index]}`,
        () => this.save(side, format.value, lowered.checked));
    editor.tools.append(
        button('Edit A as text', () => this.editAsText()),
        button('Open a file', () => editor.file.click()), editor.file,
        element('span', {class: 'hint', text: 'Save as'}), format,
        element('label', {}, lowered, 'lowered'), ...this.sides.map(saver));
  }
  async editAsText() {
    const answer = await this.write(this.sides[0], 'sched', false);
    if (answer !== null) await this.editor.take(answer);
  }
  // Shows the text in the field (copied, opened or typed) as schedule B.
  showText() {
    const [, {setting: second}] = this.sides;
    if (second.scheme === TEXT) return this.recompute();
    chooseScheme(second, TEXT);
    this.fillFields();
    this.changed();
  }
  async write(side, format, lowered) {
    try {
      const answer = await this.editor.engine.ask(
          {ask: 'write', format, lowered, ...this.question(side)});
      if (!answer.errors) return answer.text;
      this.editor.say(answer.errors.map(({text}) => text).join('\n'), false);
    } catch (error) {
      if (!(error instanceof Cancelled)) this.editor.say(error.message, false);
    }
    return null;
  }
  async save(side, format, lowered) {
    const text = await this.write(side, format, lowered);
    if (text === null) return;
    const [, ending] = SAVED.find(([name]) => name === format);
    const stem = side.setting.scheme === TEXT ? 'edited' : side.setting.scheme;
    const link = element('a', {
      href: URL.createObjectURL(new Blob([text])),
      download: `${stem}.${ending}`
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  changed() {
    const address = settingAddress();
    if (location.hash !== address) history.replaceState(null, '', address);
    this.command.textContent =
        this.sides.filter(({setting: {scheme}}) => scheme)
            .map((side) => commandOf(side.setting))
            .join('\n');
    this.recompute();
  }
  recompute() {
    ++this.wanted;
    this.isIdle = false;
    this.update();
  }
  question({setting: side}) {
    const question = {flags: flagsOf(side)};
    if (side.scheme === TEXT) question.text = this.text || 'nothing yet';
    return question;
  }

  async updateNow() {
    const begin = performance.now();
    const {wanted} = this;
    const ticket = JSON.stringify(setting);
    await Promise.all(this.sides.map((side) => this.compute(side)));
    if (this.sides.some((side) => side.engine.job !== null)) return;
    this.draw();
    this.milliseconds = performance.now() - begin;
    this.time.textContent = `Computed in ${
        Math.round(this.milliseconds)} ms, by the program's own code.`;
    this.isIdle = wanted === this.wanted;
    if (ticket !== this.tabled) {
      this.tabled = ticket;
      this.table.update();
    }
  }
  async compute(side) {
    const question = {ask: 'simulate', ...this.question(side)};
    const asked = side.setting.scheme ? JSON.stringify(question) : '';
    if (asked === side.asked) return;
    side.asked = asked;
    side.engine.cancel();
    side.answer = null;
    let problem = '';
    if (asked) {
      try {
        const answer = await side.engine.ask(
            question, (progress) => this.tell(side, progress));
        if (side.asked !== asked) return;
        if (answer.errors)
          problem = answer.errors.map(({text}) => text).join('\n');
        else
          side.answer = answer;
      } catch (error) {
        if (side.asked !== asked) return;
        if (error instanceof Cancelled) side.asked = null;
        problem = error instanceof Cancelled ?
            'The search was cancelled. Change a value to start it again.' :
            error.message;
      }
    }
    side.search.hidden = true;
    side.problem.textContent = problem;
    side.isNew = true;
  }
  tell(side, {share, best}) {
    side.search.hidden = false;
    side.bar.value = share;
    side.best.textContent =
        `${Math.round(100 * share)} %, best ${formatNumber(best)}`;
  }

  draw() {
    for (const side of this.sides) {
      if (!side.isNew) continue;
      side.isNew = false;
      if (side.panel) this.board.forget(side.panel);
      const {answer} = side;
      side.title = `${SIDE_NAMES[side.index]}: ${side.setting.scheme}`;
      side.result = answer && JSON.parse(answer.json);
      side.pipes = answer && answer.pipes;
      side.panel =
          answer && new ScheduleTimeline(answer, side.title, this.board);
    }
    const shown = this.sides.filter((side) => side.answer);
    const most = Math.max(
        1e-9,
        ...shown.flatMap(
            ({answer}) =>
                answer.held.flatMap(({held}) => Math.max(0, ...held))));
    const held = shown.map(
        (side) => new HeldView(side.answer, side.title, this.board, most));
    const panels = shown.map((side) => side.panel);
    views =
        views.filter((view) => panels.includes(view) || held.includes(view));
    this.board.panels = [...panels, ...held];
    this.area.replaceChildren(
        ...panels.map(({figure}) => figure), this.board.details,
        this.legend(panels));
    this.memory.replaceChildren(...held.map(({figure}) => figure));
    this.numbers.replaceChildren(numbersTable(this.sides));
    this.board.range.setLimits(
        0, Math.max(1e-12, ...panels.map(({events}) => events.makespan)));
    this.board.draw();
  }
  legend(panels) {
    return TimelineBoard.prototype.legend.call({panels});
  }
}

let playground = null;

async function start() {
  const {schemes} = await new Engine(20).ask({ask: 'schemes'});
  const names = schemes.map(({name}) => name);
  readAddress(location.hash, names);
  playground = new Playground(schemes);
  addEventListener('hashchange', () => {
    if (!readAddress(location.hash, names)) return;
    playground.fillFields();
    playground.changed();
  });
}

buildTour(document.getElementById('tour'));
start().catch((error) => {
  document.getElementById('setting').append(element('p', {
    class: 'card',
    role: 'alert',
    text: `The playground cannot start: ${error.message} ` +
        'It needs a browser with WebAssembly and Web Workers.'
  }));
});
