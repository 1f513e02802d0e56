// Chooses the number of columns per unit of time for a text drawing.
#pragma once

#include <cmath>

#include "chimera/report/chart.h"

namespace chimera {

struct TextScale {
  double columns_per_time = 0;
  int columns = 0;  // width of the whole drawing
  // Columns per cell if every block is a whole number of equal cells, as in the
  // timelines of papers: a blank ends each cell. 1: no blanks, because blocks
  // are too narrow. 0: a blank ends each block.
  int cell = 0;

  [[nodiscard]] int column(double time) const {
    // Slightly more than one half, so that rounding errors cannot round two
    // equal blocks in different directions.
    return static_cast<int>(std::floor(time * columns_per_time + 0.5 + 1e-6));
  }
};

// The narrowest scale at which every block starts and ends on a column and has
// room for its label. If there is none (measured times), or if it would be too
// wide, boundaries are rounded to the nearest column; under a limit, labels
// then may not fit. `max_columns` = 0: no limit.
[[nodiscard]] TextScale choose_scale(const Chart& chart, int max_columns);

}  // namespace chimera
