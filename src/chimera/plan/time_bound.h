// A quick lower bound of a step's time, from placement and costs, before any
// order is made. The planner's search is exact because it drops a candidate
// only if this bound rules it out.
#pragma once

#include "chimera/plan/plan.h"
#include "chimera/schedule/costs.h"

namespace chimera {

// The bound adds up, for the busiest worker: the way of the first activation to
// it, all its work, and then the sum and update of its last stage. If backwards
// are whole, the last part may instead be the way of the last gradient to stage
// 0 and the sum and update there. For an asynchronous scheme only the work
// counts.
//
// REQUIRES: candidate.spec is legal; `costs` has every stage.
[[nodiscard]] double time_bound(const Candidate& candidate, const Costs& costs);

}  // namespace chimera
