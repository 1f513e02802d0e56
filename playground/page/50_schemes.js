// A table of all schemes at the current setting, sortable by every column.

const SCHEME_COLUMNS = [
  ['scheme', (row) => row.name, null],
  ['makespan', (row) => row.makespan, formatNumber],
  ['idle', (row) => row.bubble, formatShare],
  ['above bound', (row) => row.above, formatShare],
  ['period', (row) => row.period, formatNumber],
  ['held', (row) => row.held, formatNumber],
  ['pipes', (row) => row.pipes, formatNumber],
];

class SchemesTable {
  constructor(section, schemes, choose) {
    this.schemes = schemes;
    this.choose = choose;
    this.engine = new Engine(120);
    this.sorted = {column: 1, sign: 1};
    this.rows = [];
    this.ticket = 0;
    this.status = element('p', {class: 'note', role: 'status'});
    this.table = element('table', {class: 'schemes'});
    section.append(
        element('div', {class: 'card scroll'}, this.table), this.status);
  }

  // Computes the fast ones first; planned orders are searched for.
  async update() {
    const ticket = ++this.ticket;
    this.engine.cancel();
    this.rows = this.schemes.map(({name}) => ({name, note: 'waits'}));
    this.draw();
    await new Promise((done) => setTimeout(done, 250));
    const order = [...this.schemes].sort((a, b) => a.isPlanned - b.isPlanned);
    for (const [index, {name, isPlanned}] of order.entries()) {
      if (ticket !== this.ticket) return;
      const row = this.rows.find((each) => each.name === name);
      const tell = (share) => {
        this.status.textContent = `${index} of ${order.length} schemes; ${
            isPlanned ?
                `searching an order for ${name}: ${Math.round(100 * share)} %` :
                name}`;
      };
      tell(0);
      try {
        const answer = await this.engine.ask(
            {ask: 'simulate', flags: flagsOf({scheme: name})},
            ({share}) => tell(share));
        if (ticket !== this.ticket) return;
        this.fill(row, answer);
      } catch (error) {
        if (error instanceof Cancelled || ticket !== this.ticket) return;
        row.note = error.message;
      }
      this.draw();
    }
    this.status.textContent =
        'Each scheme with its own defaults. Choose one to see it as A.';
  }
  fill(row, answer) {
    if (answer.errors) {
      row.note = answer.errors.map((error) => error.text.replace(/^error/, ''))
                     .join('; ');
      return;
    }
    const result = JSON.parse(answer.json);
    delete row.note;
    row.makespan = result.makespan;
    row.bubble = result.bubble_ratio;
    row.above = result.makespan / result.bound - 1;
    row.period = result.steps > 1 ? result.period : null;
    row.held =
        Math.max(...result.workers.map((worker) => worker.peak_activations));
    row.pipes = answer.pipes;
  }

  draw() {
    const {column, sign} = this.sorted;
    const value = SCHEME_COLUMNS[column][1];
    const rows = [...this.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x == null || y == null) return (x == null) - (y == null);
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
    const head = SCHEME_COLUMNS.map(
        ([label], index) => element(
            'th', {
              scope: 'col',
              'aria-sort': index !== column ? 'none' :
                  sign > 0                  ? 'ascending' :
                                              'descending'
            },
            element('button', {
              type: 'button',
              text: label +
                  (index !== column ? '' :
                       sign > 0     ? ' \u2191' :
                                      ' \u2193'),
              onclick: () => {
                this.sorted = {
                  column: index,
                  sign: index === column ? -sign : 1
                };
                this.draw();
                this.table.querySelectorAll('thead button')[index].focus();
              }
            })));
    this.table.textContent = '';
    this.table.append(
        element('thead', {}, element('tr', {}, ...head)),
        element('tbody', {}, ...rows.map((row) => this.row(row))));
  }
  row(row) {
    const name = element('th', {scope: 'row'}, element('button', {
                           type: 'button',
                           text: row.name,
                           onclick: () => this.choose(row.name)
                         }));
    const cells = row.note !== undefined ?
        [element('td', {
          class: 'refused',
          colspan: SCHEME_COLUMNS.length - 1,
          text: row.note
        })] :
        SCHEME_COLUMNS.slice(1).map(
            ([, value, format]) => element('td', {text: format(value(row))}));
    return element(
        'tr', {class: row.name === setting.sides[0].scheme ? 'chosen' : null},
        name, ...cells);
  }
}
