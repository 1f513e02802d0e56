// A schedule as text: checked at every key, with the offending cells marked.

const LARGEST_TEXT = 2e6;

// Where each action of each worker stands in a sched or csv text: [worker] is a
// list of [from, to].
function cellPlaces(text) {
  const places = [];
  const isSched = /^\s*(#.*\n\s*)*chimera-schedule-1/.test(text);
  let at = 0;
  for (const line of text.split('\n')) {
    const end = isSched && line.includes('#') ? line.indexOf('#') : line.length;
    const head = isSched ? /^\s*worker\s+(\d+)\s*:/.exec(line) : [''];
    if (head && line.trim() !== '') {
      const list = [];
      const cells = isSched ? /\S+/g : /[^,\s]+/g;
      cells.lastIndex = head[0].length;
      for (let cell; (cell = cells.exec(line)) && cell.index < end;)
        list.push([at + cell.index, at + cell.index + cell[0].length]);
      places[isSched ? Number(head[1]) : places.length] = list;
    }
    at += line.length + 1;
  }
  return places;
}

// The line of "text:14".
function linePlace(text, where) {
  const line = Number((/:(\d+)/.exec(where) || [])[1]);
  if (!line) return null;
  const lines = text.split('\n');
  const from =
      lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return line <= lines.length ? [from, from + lines[line - 1].length] : null;
}

class Editor {
  constructor(section, onValid) {
    this.onValid = onValid;
    this.engine = new Engine(20);
    this.area = element('textarea', {
      spellcheck: 'false',
      'aria-label': 'Schedule as text',
      placeholder:
          'Press "Edit A as text", or open a .sched, .json or .csv file'
    });
    this.back = element('pre', {'aria-hidden': 'true'});
    this.verdict = element('p', {class: 'verdict', role: 'status'});
    this.list = element('ul', {class: 'mistakes'});
    this.file = element('input', {
      type: 'file',
      class: 'hidden-file',
      accept: '.sched,.json,.csv',
      'aria-label': 'Open a schedule',
      onchange: () => this.file.files[0] && this.open(this.file.files[0])
    });
    this.area.addEventListener('input', () => this.check());
    this.area.addEventListener('scroll', () => {
      this.back.scrollTop = this.area.scrollTop;
      this.back.scrollLeft = this.area.scrollLeft;
    });
    section.append(element(
        'div', {class: 'card'}, this.tools = element('div', {class: 'tools'}),
        element('div', {class: 'editor'}, this.back, this.area), this.verdict,
        this.list));
    section.addEventListener('dragover', (event) => event.preventDefault());
    section.addEventListener('drop', (event) => {
      event.preventDefault();
      if (event.dataTransfer.files[0]) this.open(event.dataTransfer.files[0]);
    });
  }

  async open(file) {
    this.file.value = '';
    if (file.size > LARGEST_TEXT) {
      this.say(
          `${file.name.slice(0, 60)} has ${formatBytes(file.size)}; at most ${
              formatBytes(LARGEST_TEXT)} can be edited here.`,
          false);
      return;
    }
    await this.take(await file.text());
  }
  // JSON is shown as sched, which people can edit and cells of which can be
  // marked, if it can be read.
  async take(text) {
    if (text.trimStart().startsWith('{')) {
      try {
        const answer = await this.engine.ask({ask: 'read', text});
        if (answer.text) text = answer.text;
      } catch (error) {
        if (!(error instanceof Cancelled)) this.say(error.message, false);
      }
    }
    this.area.value = text;
    await this.check();
  }

  say(text, isGood) {
    this.verdict.textContent = text;
    this.verdict.className = isGood ? 'verdict good' : 'verdict problem';
  }
  async check() {
    const text = this.area.value;
    this.mark(text, []);
    this.list.textContent = '';
    if (text.trim() === '') return this.say('', true);
    if (text.length > LARGEST_TEXT)
      return this.say('This is too long to be checked here.', false);
    let answer;
    try {
      answer = await this.engine.ask({ask: 'check', text, flags: {}});
    } catch (error) {
      if (!(error instanceof Cancelled)) this.say(error.message, false);
      return;
    }
    const {ok, violations} = answer.check;
    if (ok) {
      this.say(answer.text, true);
      this.onValid(text);
      return;
    }
    const places = cellPlaces(text);
    const found = violations.map(
        (each) => each.position !== undefined ?
            (places[each.worker] || [])[each.position] || null :
            linePlace(text, each.where || ''));
    this.say(
        `check: ${violations.length} ${
            violations.length === 1 ? 'violation' : 'violations'}`,
        false);
    this.mark(text, found.filter((place) => place));
    violations.forEach(
        (each, index) =>
            this.list.append(element('li', {}, element('button', {
                                       type: 'button',
                                       text: this.words(each),
                                       onclick: () => this.goTo(found[index])
                                     }))));
  }
  words(each) {
    const where = each.worker !== undefined ?
        ` worker ${each.worker}${
            each.position === undefined ?
                '' :
                `, action ${each.position} (${each.action})`}` :
        each.where ? ` ${each.where}` :
                     '';
    return `${each.code}${where}: ${each.reason}`;
  }
  goTo(place) {
    this.area.focus();
    if (place) this.area.setSelectionRange(place[0], place[1]);
  }
  // Repeats the text behind the field, with marks where it is wrong.
  mark(text, places) {
    const parts = [];
    let at = 0;
    for (const [from, to] of [...places].sort((a, b) => a[0] - b[0])) {
      if (from < at) continue;
      parts.push(
          text.slice(at, from), element('mark', {text: text.slice(from, to)}));
      at = to;
    }
    this.back.textContent = '';
    if (places.length > 0) this.back.append(...parts, `${text.slice(at)}\n\n`);
    this.back.scrollTop = this.area.scrollTop;
    this.back.scrollLeft = this.area.scrollLeft;
  }
}
