// A lower bound on the period: the time per step when steps follow one another
// without a barrier. docs/planned-orders.md has the proof.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"
#include "chimera/simulate/bound.h"

namespace chimera {

// No order of the same work on the same placement has a shorter period in the
// long run: K steps take a worker at least K periods, minus at most the idle
// time of one. A worker ends the compute and updates of a step before it starts
// the next one. Uses `cores` and `cap` of the options. For asynchronous
// schedules and halved backwards only the work counts.
// REQUIRES: `schedule` is lowered.
[[nodiscard]] double period_bound(const Schedule& schedule, const Costs& costs,
                                  const BoundOptions& options);

}  // namespace chimera
