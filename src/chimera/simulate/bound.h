// The lower bound: no order of the same work on the same placement ends sooner.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// For `steps` steps that start and end with all workers together. Two reasons,
// of which the stronger counts:
//   a worker cannot start before the first activation reaches it, and then has
//   all its work to do;
//   one micro-batch has to go all the way down and all the way back.
// The order may split backwards and start weight gradients whenever it likes,
// so the bound holds for every scheme on the placement.
[[nodiscard]] double lower_bound(const Schedule& schedule, const Costs& costs,
                                 int steps);

}  // namespace chimera
