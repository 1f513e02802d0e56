// The legend below an SVG drawing: a line of swatches per pipe, aligned as a
// table, and one for what belongs to no pipe. Only what occurs is explained.
#pragma once

#include <string>

#include "chimera/report/chart.h"
#include "chimera/report/svg_element.h"

namespace chimera {

struct SvgLegend {
  std::string svg;
  double right = 0;  // how far it reaches
  double bottom = 0;
};

[[nodiscard]] SvgLegend make_svg_legend(const Chart& chart, const Point& at);

// How a block or a swatch is filled: its colour, or for recomputation the
// hatching that svg_hatchings defines.
[[nodiscard]] std::string svg_fill(Op op, int pipe);

// Definitions of the hatchings that `chart` needs; empty if none.
[[nodiscard]] std::string svg_hatchings(const Chart& chart);

}  // namespace chimera
