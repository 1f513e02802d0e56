#include "chimera/report/text_scale.h"

#include <algorithm>

#include "chimera/report/label.h"

namespace chimera {

namespace {

// A typical block never takes more columns than this for the sake of exact
// boundaries; nobody reads a drawing that has to be scrolled for them.
constexpr int kWidestTypical = 12;

// "No limit" ends here: far beyond any drawing that is of use, yet one that
// fits into memory, however long a gap is against a block.
constexpr int kMostColumns = 50000;

// Euclid's algorithm on reals; `dust` is what counts as zero. The remainder
// nearest to zero is taken, so that a sum of thirds that falls short of a
// multiple leaves dust, and `b` as it is.
double common_divisor(double a, double b, double dust) {
  while (b > dust) {
    const double rest = std::abs(std::remainder(a, b));
    a = b;
    b = rest;
  }
  return a;
}

// The largest time of which all boundaries of blocks are multiples; 0 if it
// is too small to be drawn.
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

// How many columns a quantum needs for every label to fit.
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
  const double most = limit / chart.end;  // per unit of time
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
  // Two columns more than a label needs: times that scatter about the typical
  // one shall keep theirs.
  const double wanted = (widest_label(chart) + 2) / chart.typical;
  TextScale scale = scale_of(chart, std::min(wanted, most));
  // Blanks between blocks this narrow would read as gaps.
  if (scale.columns_per_time * chart.typical < 2) scale.cell = 1;
  return scale;
}

}  // namespace chimera
