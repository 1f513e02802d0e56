// Decides when each worker starts each gradient sum: the part of lowering that
// depends on the synchronisation mode.
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
  // Index in the source list; kNone: before its first action.
  int after = kNone;
};

struct SumPlan {
  std::vector<std::vector<PlannedSum>> by_worker;  // in start order
  // [pipe][stage]: how many sums its worker has started once it has started the
  // last one that the stage needs; 0 if it needs none.
  std::vector<std::vector<int>> rank;
};

// Plans the sums of a synchronous schedule. All groups get one global order, by
// the time at which they can start, and every worker starts its groups in that
// order. Waiting for an earlier group costs nothing: that group is ready no
// later than the one that waits.
[[nodiscard]] SumPlan plan_sums(const Schedule& schedule,
                                const AsapTimes& times,
                                const std::vector<SumGroup>& groups, Sync sync);

}  // namespace chimera
