// Finds what would change the planner's choice: other links or another batch.
// Memory is covered by PlanReport::too_large.
#pragma once

#include <vector>

#include "chimera/plan/plan.h"
#include "chimera/plan/staged_model.h"

namespace chimera {

// For each direction, the smallest factor tried with which another of `plans`
// overtakes the first one under the request's cost model. Links: 2, 4, 8 and 16
// times slower and faster, messages and sums together. Batch: half and twice
// the micro-batches, if that is legal and fits the memory, and if the first
// plan has no planned order, which would have to be searched for.
//
// Only the first few plans take part, and each keeps its layout, sync and
// order. The result is a hint where to look, not a new search.
[[nodiscard]] std::vector<PlanChange> what_would_change(
    const PlanRequest& request, const std::vector<Plan>& plans);

// Number of ranks that share the update of one stage.
[[nodiscard]] int update_holders(const PlanRequest& request,
                                 const Candidate& candidate);

// The cut and costs of a candidate under a request.
[[nodiscard]] StagedModel staged_model(const PlanRequest& request,
                                       const Candidate& candidate);

}  // namespace chimera
