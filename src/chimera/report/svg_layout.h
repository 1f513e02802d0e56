// Where things lie in an SVG drawing, in its user units.
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
  double scale = 0;  // per unit of time
  Box plot;          // all rows
  double block_height = 0;
  double lane_height = 0;  // of sums
  double row_pitch = 0;    // from row to row

  [[nodiscard]] double x(double time) const { return plot.left + time * scale; }
  [[nodiscard]] double row_top(int worker) const {
    return plot.top + worker * row_pitch;
  }
  [[nodiscard]] Box block(const Event& event) const;
  [[nodiscard]] Box sum(const Event& event, size_t lane) const;
};

// Blocks are as wide as their numbers need and rows as high as is readable,
// but the drawing does not grow beyond a large page: blocks then get thinner.
[[nodiscard]] SvgLayout make_layout(const Chart& chart, bool has_title,
                                    const std::vector<std::string>& row_names);

}  // namespace chimera
