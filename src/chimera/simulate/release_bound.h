// How much a worker can have done by a time r in any order: the part of the
// lower bound that accounts for the time gradients take to come back.
//
// Every action has a release time before which it cannot start: the time of the
// chain before it without any waiting, plus, for the k-th micro-batch, k turns
// of the slowest stage on the way (a turn of the last stage is F and I).
// By r a worker has done at most
//   the time since its first release, and
//   the actions released before r; forwards only as far as the cap leaves room,
//   given the weight gradients that can have ended by r.
// The rest of its work comes after r. The bound is the largest over all r.
#pragma once

#include <optional>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// [worker]: the earliest end of its compute, without updates. REQUIRES:
// `schedule` is lowered, synchronous and has whole backwards.
[[nodiscard]] std::vector<double> release_bounds(const Schedule& schedule,
                                                 const Costs& costs,
                                                 std::optional<double> cap);

// Latency and transfer time of the tensor between `lower` and the next stage.
[[nodiscard]] double hop_time(const Schedule& schedule, const Costs& costs,
                              int pipe, int lower);

}  // namespace chimera
