// Positions and sizes in an SVG drawing, in SVG user units.
#pragma once

#include <string>
#include <vector>

#include "chimera/report/chart.h"
#include "chimera/report/svg_element.h"

namespace chimera {

inline constexpr double kFontSize = 11;
inline constexpr double kTitleSize = 13;
inline constexpr double kMargin = 10;

struct SvgLayout {
  double scale = 0;  // SVG units per unit of time
  Box plot;          // the area of all rows
  double block_height = 0;
  double lane_height = 0;  // height of one lane of sums
  double row_pitch = 0;    // distance between the tops of two rows
  int gap_before = 0;      // rows from this one on lie lower; 0 = none

  [[nodiscard]] double x(double time) const { return plot.left + time * scale; }
  [[nodiscard]] double row_top(int worker) const {
    const bool is_below = gap_before > 0 && worker >= gap_before;
    return plot.top + worker * row_pitch + (is_below ? 0.6 * kFontSize : 0);
  }
  [[nodiscard]] Box block(const Event& event) const;
  [[nodiscard]] Box sum(const Event& event, size_t lane) const;
};

struct LayoutOptions {
  bool has_title = false;
  const std::vector<std::string>& row_names;
  int gap_before = 0;  // see SvgOptions
  double widest = 0;
};

// The layout of a chart: blocks as wide as their numbers need and rows high
// enough to read, within the size of a large page. Larger charts get thinner
// blocks.
[[nodiscard]] SvgLayout make_layout(const Chart& chart,
                                    const LayoutOptions& options);

}  // namespace chimera
