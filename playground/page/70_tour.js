// The paper's idea in five steps; docs/playground.md explains the same
// settings.

const TOUR = [
  [
    '1F1B\'s bubbles', '#scheme=1f1b&vs=&depth=8&micros=8',
    'Workers wait for the first micro-batch to arrive and for the last gradient to come back.'
  ],
  [
    'Two pipes', '#scheme=chimera&vs=1f1b&depth=8&micros=8',
    'A second pipe in the opposite direction computes while the first one would wait.'
  ],
  [
    'More pipes', '#scheme=chimera&pipes=4&vs=chimera&depth=8&micros=8',
    'Four pipes leave still less idle time, for four copies of the weights.'
  ],
  [
    'Split backward', '#scheme=zb-h1&vs=1f1b&depth=8&micros=8',
    'The weight half of a backward can wait, so it fills bubbles.'
  ],
  [
    'Planned', '#scheme=planned&vs=chimera&depth=8&micros=8',
    'Two pipes and split backwards in the best order found: here no order is faster.'
  ],
];

function buildTour(section) {
  section.append(element(
      'ol', {class: 'tour'},
      ...TOUR.map(
          ([title, address, text]) => element(
              'li', {}, element('a', {href: address, text: title}), ' ',
              element('span', {class: 'note', text})))));
}
