// The as-soon-as-possible pass: when every action of a compute-only schedule
// would start and end with free messages. Lowering uses it to order posts and
// to see where idle time is left.
#pragma once

#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct Place {
  int worker = 0;
  int position = 0;  // in the worker's list
};

struct AsapTimes {
  std::vector<std::vector<double>> start;  // [worker][position]
  std::vector<std::vector<double>> end;
  std::vector<Place> order;  // all actions by start, dependencies first
};

// One round of the lists; what another round of an asynchronous schedule has
// produced counts as there already.
// REQUIRES: `schedule` is compute-only and validates clean.
[[nodiscard]] AsapTimes asap(const Schedule& schedule, const Costs& costs);

}  // namespace chimera
