// A lower bound: no order of the same work on the same placement ends sooner.
#pragma once

#include <optional>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// Bounds steps that start and end with all workers together, by the strongest
// of these arguments:
//   a worker cannot start before the first activation reaches it, and then has
//   all its work to do;
//   by a time r it cannot have done more than the actions that can have reached
//   it by then (release_bound.h), and must do the rest after r;
//   after its last compute comes at least the shortest of its stages' sums;
//   a link carries its messages one after the other (link_bound.h);
//   one micro-batch has to go all the way down and all the way back.
// The order may split backwards and start weight gradients at any time, so the
// bound holds for every scheme on the placement except those that pass on the
// gradient of half a micro-batch (backward halving).
struct BoundOptions {
  int steps = 1;
  // Number of processors that all workers of all copies share; 0 = one for each
  // worker. Total work divided by this number is another lower bound.
  int cores = 0;
  // The most activations a worker may hold, in D-ths of the model; absent: no
  // limit.
  std::optional<double> cap;
  // False: ignores links, as if they carried any number of messages at once.
  bool links = true;
};

[[nodiscard]] double lower_bound(const Schedule& schedule, const Costs& costs,
                                 const BoundOptions& options);

}  // namespace chimera
