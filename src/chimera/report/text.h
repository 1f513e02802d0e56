// A trace drawn for a terminal, one row per worker, widths true to time:
//
//   t  0     2     4     6     8
//   P0 F0 F1 .. F2 B2 -- F3 B3 -- ..
//   P1 .. F0 F2 F1 F3 .. B2 -- B0 --
//
// A block is its op and micro-batch, dashes while it goes on; dots are idle
// time. Gradient sums that take time get a line of their own below the worker
// (`==G2==`). Updates are drawn where they take time; messages and votes never.
#pragma once

#include <string>

#include "chimera/trace/trace.h"

namespace chimera {

struct TextOptions {
  bool colour = false;  // ANSI, 256 colours
  // Rows and axis stay within this; labels that do not fit are dropped.
  int max_columns = 0;  // 0: no limit
  // Workers drawn; the drawing says how many were left out.
  int max_rows = 0;  // 0: no limit
};

// The drawing with its time axis and legend; every line ends with '\n'.
// Complexity: linear in events plus the characters drawn.
[[nodiscard]] std::string draw_text(const Trace& trace,
                                    const TextOptions& options = {});

}  // namespace chimera
