// What a step takes at least, quickly: from placement and costs, before any
// order is made. The planner's searches are exact because they only ever drop
// what this rules out.
#pragma once

#include "chimera/plan/plan.h"
#include "chimera/schedule/costs.h"

namespace chimera {

// For the busiest worker: the way of the first activation to it, all its work,
// then either the sum and update of its last stage, or, where backwards are
// whole, the way of the last gradient down to stage 0 and that one's sum and
// update. Of an asynchronous scheme only the work counts.
// REQUIRES: candidate.spec is legal, one cost per stage.
[[nodiscard]] double time_bound(const Candidate& candidate, const Costs& costs);

}  // namespace chimera
