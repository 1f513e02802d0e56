// The number of activations a worker holds, computed from its list alone.
#pragma once

#include <vector>

#include "chimera/schedule/schedule.h"

namespace chimera {

// The most activations each worker holds at once, in D-ths of the model. A
// micro-batch is held from its F (or its R, if it has one) to its last B or W.
// A worker runs its list in order, so no times are needed. For schedules with
// work in flight across steps: the steady state.
// REQUIRES: `schedule` is valid.
[[nodiscard]] std::vector<double> peak_held(const Schedule& schedule);

}  // namespace chimera
