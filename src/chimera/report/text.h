// Draws a trace for a terminal, one row per worker, widths proportional to
// time:
//
//   t  0     2     4     6     8
//   P0 F0 F1 .. F2 B2 -- F3 B3 -- ..
//   P1 .. F0 F2 F1 F3 .. B2 -- B0 --
//
// A block shows its op and micro-batch, and dashes for the rest of its
// duration; dots are idle time. Gradient sums that take time have a separate
// line below the worker's row (`==G2==`). Updates are drawn if they take time;
// messages and votes never are.
#pragma once

#include <string>

#include "chimera/trace/trace.h"

namespace chimera {

struct TextOptions {
  bool colour = false;  // ANSI, 256 colours
  // The largest width of rows and axis; labels that do not fit are dropped.
  int max_columns = 0;  // 0: no limit
  // The number of workers drawn; a last line says how many were left out.
  int max_rows = 0;  // 0: no limit
};

// The drawing with its time axis and legend; every line ends with '\n'.
// Complexity: linear in events plus characters drawn.
[[nodiscard]] std::string draw_text(const Trace& trace,
                                    const TextOptions& options = {});

}  // namespace chimera
