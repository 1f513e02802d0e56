// What a worker can have done by a time r, whatever the order: the part of the
// lower bound that sees how long gradients take to come back.
//
// Every action has a release, before which it cannot start: the time of the
// chain before it without any waiting, and for the k-th micro-batch k turns of
// the slowest stage on the way (the last stage needs F and I for each turn).
// By r a worker has done at most
//   the time since its first release, and
//   what was released before r; of forwards no more than the cap and the weight
//   gradients that can have ended by r leave room for.
// What is left of its work comes after r. The bound is the largest over all r.
#pragma once

#include <optional>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// [worker] when its compute, without updates, ends at the soonest.
// REQUIRES: a lowered schedule of a synchronous scheme with whole backwards.
[[nodiscard]] std::vector<double> release_bounds(const Schedule& schedule,
                                                 const Costs& costs,
                                                 std::optional<double> cap);

// Latency and transfer of the tensor between `lower` and the stage after it.
[[nodiscard]] double hop_time(const Schedule& schedule, const Costs& costs,
                              int pipe, int lower);

}  // namespace chimera
