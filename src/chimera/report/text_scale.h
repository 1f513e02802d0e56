// How many columns a unit of time gets in a text drawing.
#pragma once

#include <cmath>

#include "chimera/report/chart.h"

namespace chimera {

struct TextScale {
  double columns_per_time = 0;
  int columns = 0;  // of the whole drawing
  // Where every block is a whole number of equal cells, as in the literature's
  // timelines, the columns of one: a blank ends each cell. 1: no blanks at all,
  // blocks are too narrow. 0: a blank ends each block.
  int cell = 0;

  [[nodiscard]] int column(double time) const {
    // A hair above one half, so that equal blocks stay equal where rounding
    // dust would send one half up and another down.
    return static_cast<int>(std::floor(time * columns_per_time + 0.5 + 1e-6));
  }
};

// The narrowest scale on which every block starts and ends on a column and
// has room for its label. Where there is none (measured times), or where it
// would be too wide, the columns are rounded to the nearest; with a limit
// labels then may not fit. `max_columns` 0: no limit.
[[nodiscard]] TextScale choose_scale(const Chart& chart, int max_columns);

}  // namespace chimera
