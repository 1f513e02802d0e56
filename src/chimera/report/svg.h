// Draws a trace as a standalone SVG, fit for a paper: one row per worker,
// widths proportional to time, micro-batch numbers in the blocks, a time axis
// and a legend. Gradient sums that take time are thin bars below their worker's
// row.
#pragma once

#include <string>
#include <vector>

#include "chimera/trace/trace.h"

namespace chimera {

struct SvgOptions {
  std::string title = "";           // a line above the drawing; may be empty
  std::string time_label = "time";  // below the axis, for example "time (ms)"
  bool messages = false;            // an arrow for each message
  std::vector<std::string> row_names = {};  // [worker]; empty: P0, P1, ...
  int gap_before = 0;    // extra space above this row, to separate two drawings
  double widest = 3200;  // width of the rows, however many blocks they have
};

// The SVG: well-formed XML, and the same bytes for the same trace on every
// machine. Blocks carry tooltips unless there are thousands of them.
// Complexity: time and size are linear in events.
[[nodiscard]] std::string draw_svg(const Trace& trace,
                                   const SvgOptions& options = {});

}  // namespace chimera
