// timeline.svg: one step as planned and as run.
#pragma once

#include <string>

#include "chimera/train/train.h"

namespace chimera {

// The last step of a run: as planned, on the measured times of its actions, and
// as it ran.
// REQUIRES: the run kept its trace.
[[nodiscard]] std::string draw_last_step(const TrainOutcome& outcome);

}  // namespace chimera
