// The as-soon-as-possible pass: when each action of a compute-only schedule
// starts and ends if messages take no time. Lowering uses it to order posts and
// to find idle time.
#pragma once

#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct Place {
  int worker = 0;
  int position = 0;  // index in the worker's list
};

struct AsapTimes {
  std::vector<std::vector<double>> start;  // [worker][position]
  std::vector<std::vector<double>> end;
  // All actions by start, each after what it depends on.
  std::vector<Place> order;
};

// The times of one round of the lists. Results of earlier rounds (asynchronous
// schedules) count as available from the beginning.
// REQUIRES: `schedule` is compute-only and valid.
[[nodiscard]] AsapTimes asap(const Schedule& schedule, const Costs& costs);

}  // namespace chimera
