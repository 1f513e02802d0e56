// timeline.svg: one step as planned and as it ran.
#pragma once

#include <string>

#include "chimera/train/train.h"

namespace chimera {

// Draws the last step of a run twice: as planned, with the measured times of
// its actions, and as it ran. Shows the first copy; of more than 16 workers,
// the first and the last ones. `cores`: processors that all ranks share; 0 =
// each has its own. REQUIRES: the run kept its trace.
[[nodiscard]] std::string draw_last_step(const TrainOutcome& outcome,
                                         int cores);

}  // namespace chimera
