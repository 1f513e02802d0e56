#include "chimera/report/text_scale.h"

#include <algorithm>

#include "chimera/report/label.h"

namespace chimera {

namespace {

// The most columns a typical block may take so that all blocks start and end on
// a column: a drawing that has to be scrolled is harder to read than a rounded
// one.
constexpr int kWidestTypical = 12;

// The width of "no limit": far beyond any useful drawing, but it fits into
// memory even if one gap is much longer than the blocks.
constexpr int kMostColumns = 50000;

// Euclid's algorithm on reals; `dust` is the largest value that counts as zero.
// The remainder nearest to zero is taken, so that a sum of thirds just below a
// multiple of `b` counts as that multiple.
double common_divisor(double a, double b, double dust) {
  while (b > dust) {
    const double rest = std::abs(std::remainder(a, b));
    a = b;
    b = rest;
  }
  return a;
}

// The longest time that divides the start and end of every block; 0 if it is
// too short to be drawn.
double common_quantum(const Chart& chart) {
  const double dust = 1e-6 * chart.typical;
  double quantum = chart.typical;
  for (const ChartRow& row : chart.rows) {
    for (const Event* block : row.blocks) {
      quantum = common_divisor(block->start, quantum, dust);
      quantum = common_divisor(block->end, quantum, dust);
      if (quantum * kWidestTypical < chart.typical * (1 - 1e-6)) return 0;
    }
  }
  return quantum;
}

int label_columns(const Chart& chart, const Event& block) {
  return static_cast<int>(event_label(block.action, chart.halves).size()) + 1;
}

int widest_label(const Chart& chart) {
  int widest = 0;
  for (const ChartRow& row : chart.rows) {
    for (const Event* block : row.blocks) {
      widest = std::max(widest, label_columns(chart, *block));
    }
  }
  return widest;
}

// The number of columns per quantum that gives every label enough room.
int columns_per_quantum(const Chart& chart, double quantum) {
  int columns = 1;
  for (const ChartRow& row : chart.rows) {
    for (const Event* block : row.blocks) {
      const double quanta = (block->end - block->start) / quantum;
      const double needed = label_columns(chart, *block) / quanta;
      columns = std::max(columns, static_cast<int>(std::ceil(needed - 1e-6)));
    }
  }
  const int most = static_cast<int>(kWidestTypical * quantum / chart.typical);
  return std::min(columns, std::max(most, 1));
}

TextScale scale_of(const Chart& chart, double columns_per_time) {
  TextScale scale;
  scale.columns_per_time = columns_per_time;
  scale.columns = scale.column(chart.end);
  return scale;
}

}  // namespace

TextScale choose_scale(const Chart& chart, int max_columns) {
  if (chart.num_blocks == 0) return {};
  const int limit = max_columns > 0 ? max_columns : kMostColumns;
  const double most = limit / chart.end;  // columns per unit of time
  const double quantum = common_quantum(chart);
  if (quantum > 0) {
    const double fitting = std::floor(most * quantum + 1e-6);
    const double columns =
        std::min<double>(fitting, columns_per_quantum(chart, quantum));
    if (columns >= 1) {
      TextScale scale = scale_of(chart, columns / quantum);
      const bool grid = chart.shortest < quantum * 1.5;
      scale.cell = grid ? static_cast<int>(columns) : 0;
      return scale;
    }
  }
  // Two columns more than a label needs, so that blocks somewhat shorter than
  // the typical one keep their labels.
  const double wanted = (widest_label(chart) + 2) / chart.typical;
  TextScale scale = scale_of(chart, std::min(wanted, most));
  // Between blocks this narrow a blank would look like idle time.
  if (scale.columns_per_time * chart.typical < 2) scale.cell = 1;
  return scale;
}

}  // namespace chimera
