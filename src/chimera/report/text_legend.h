// The lines below a text drawing: the letter of each op, the direction of each
// pipe and the micro-batches that go through it.
#pragma once

#include <string>

#include "chimera/report/chart.h"

namespace chimera {

// One line, and a second one if there are several pipes.
[[nodiscard]] std::string text_legend(const Chart& chart, bool colour);

}  // namespace chimera
