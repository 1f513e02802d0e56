// When each worker starts each gradient sum: the part of lowering that knows
// about synchronisation modes.
#pragma once

#include <vector>

#include "chimera/schedule/asap.h"
#include "chimera/schedule/lower.h"

namespace chimera {

// The sum groups that a placement needs: one for every stage with several
// holders (over all pipes and copies), and if `tied` one more over the holders
// of the first and last stage.
[[nodiscard]] std::vector<SumGroup> sum_groups(const Placement& placement,
                                               int width, bool tied);

struct PlannedSum {
  int group = 0;
  int after = kNone;  // position in the source list; kNone: before all of it
};

struct SumPlan {
  std::vector<std::vector<PlannedSum>> by_worker;  // in start order
  // [pipe][stage]: how many sums its worker has started before the last one
  // that the stage needs, plus one; 0 if it needs none.
  std::vector<std::vector<int>> rank;
};

// For synchronous schedules. All groups get one global order, by the moment
// they can start, and every worker starts its groups in that order. A group
// placed later for it loses nothing: the one it waits for is ready no later
// than itself.
[[nodiscard]] SumPlan plan_sums(const Schedule& schedule,
                                const AsapTimes& times,
                                const std::vector<SumGroup>& groups, Sync sync);

}  // namespace chimera
