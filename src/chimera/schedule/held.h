// How many activations a worker holds, read off its list alone.
#pragma once

#include <vector>

#include "chimera/schedule/schedule.h"

namespace chimera {

// The most activations each worker holds at once, in D-ths of the model. A
// micro-batch is held from its F (from its R where it has one) to its last B
// or W. As a worker runs its list in order, this needs no times. For a
// schedule that keeps work in flight over steps: in steady state.
// REQUIRES: `schedule` validates clean.
[[nodiscard]] std::vector<double> peak_held(const Schedule& schedule);

}  // namespace chimera
