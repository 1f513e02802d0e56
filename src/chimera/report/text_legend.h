// The lines below a text drawing: which letter is which op, which way each
// pipe goes and which micro-batches go through it.
#pragma once

#include <string>

#include "chimera/report/chart.h"

namespace chimera {

// One line, and a second one where there are several pipes.
[[nodiscard]] std::string text_legend(const Chart& chart, bool colour);

}  // namespace chimera
