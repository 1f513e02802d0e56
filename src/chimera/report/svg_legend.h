// The legend below an SVG drawing: a line of colour samples per pipe, aligned
// as a table, and a line for ops that belong to no pipe. It explains only what
// the drawing shows.
#pragma once

#include <string>

#include "chimera/report/chart.h"
#include "chimera/report/svg_element.h"

namespace chimera {

struct SvgLegend {
  std::string svg;
  double right = 0;  // x coordinate of its right edge
  double bottom = 0;
};

[[nodiscard]] SvgLegend make_svg_legend(const Chart& chart, const Point& at);

// The fill of a block or of a colour sample in the legend: its colour, or for
// recomputation the hatching that svg_hatchings defines.
[[nodiscard]] std::string svg_fill(Op op, int pipe, int chunk = 0);

// Definitions of the hatchings that `chart` needs; empty if none.
[[nodiscard]] std::string svg_hatchings(const Chart& chart);

}  // namespace chimera
