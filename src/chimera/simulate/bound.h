// The lower bound: no order of the same work on the same placement ends sooner.
#pragma once

#include <optional>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// For steps that start and end with all workers together. The strongest of
// these counts:
//   a worker cannot start before the first activation reaches it, and then has
//   all its work to do;
//   by a time r it cannot have done more than what can have reached it by then
//   (release_bound.h), and has the rest to do after r;
//   after its last compute comes at least the shortest of its stages' sums;
//   one micro-batch has to go all the way down and all the way back.
// The order may split backwards and start weight gradients whenever it likes,
// so the bound holds for every scheme on the placement, but for those that send
// the gradient of half a micro-batch on (backward halving).
struct BoundOptions {
  int steps = 1;
  // Processors that all workers of all copies share: all work divided by them
  // is another reason. 0 = one for each.
  int cores = 0;
  // The most activations a worker may hold, in D-ths of the model; absent: any
  // number.
  std::optional<double> cap;
};

[[nodiscard]] double lower_bound(const Schedule& schedule, const Costs& costs,
                                 const BoundOptions& options);

}  // namespace chimera
