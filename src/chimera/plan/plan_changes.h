// What would change the planner's choice: other links, another batch. Memory is
// the planner's own business (PlanReport::too_large).
#pragma once

#include <vector>

#include "chimera/plan/plan.h"
#include "chimera/plan/staged_model.h"

namespace chimera {

// The least factor, of those tried in each direction, with which another of
// `plans` overtakes the first one, as the request's cost model sees it. Links:
// 2, 4, 8, 16 times as slow and as fast, messages and sums together. Batch: a
// half and twice the micro-batches, where that is legal and fits the memory.
// Only the first few plans take part, each with its layout, sync and order kept
// (a planned order of another batch is the first that its scheme gives): a hint
// where to look, not a new search.
[[nodiscard]] std::vector<PlanChange> what_would_change(
    const PlanRequest& request, const std::vector<Plan>& plans);

// Who share the update of one of its stages.
[[nodiscard]] int update_holders(const PlanRequest& request,
                                 const Candidate& candidate);

// The cut and costs of a candidate under a request.
[[nodiscard]] StagedModel staged_model(const PlanRequest& request,
                                       const Candidate& candidate);

}  // namespace chimera
