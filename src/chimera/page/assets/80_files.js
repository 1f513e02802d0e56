// Events of all runs, and the files of one to copy.

function buildEvents(section, runs) {
  const rows = runs.flatMap((run) => run.marks.map((mark) => [run, ...mark]))
                   .sort((a, b) => a[1] - b[1]);
  const body = element(
      'tbody', {},
      ...rows.map(
          ([run, step, kind, text]) => element(
              'tr', {},
              element('td', {class: 'number', text: formatCount(step)}),
              element('td', {
                class:
                    `kind kind-${MARK_KINDS.includes(kind) ? kind : 'other'}`,
                text: markWord(kind)
              }),
              runs.length > 1 ? element('td', {text: run.name}) : null,
              element('td', {text}))));
  section.append(element(
      'div', {class: 'card scroll'},
      element(
          'table', {class: 'events'},
          headRow(
              'step', 'event', ...(runs.length > 1 ? ['run'] : []), 'details'),
          body)));
}

function copyButton(text) {
  const button = element('button', {
    type: 'button',
    text: 'Copy',
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
      } catch (error) {  // pages from a file may not: select it instead
        const range = document.createRange();
        range.selectNodeContents(button.nextSibling);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        document.execCommand('copy');
      }
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 1500);
    }
  });
  return button;
}

function buildFiles(section, run) {
  const files = [
    ['config.toml', run.config], ['The schedule', run.schedule]
  ].filter(([, text]) => text);
  section.append(element(
      'div', {class: 'card'},
      ...files.map(
          ([name, text]) => element(
              'details', {}, element('summary', {text: name}), copyButton(text),
              element('pre', {tabindex: '0', text})))));
  return files.length > 0;
}
