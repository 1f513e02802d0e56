// All layouts that the planner chooses from: all (W, D) with W x D = P, all
// micro-batch sizes that divide a copy's share of the batch, all schemes with
// their pipes, scales, chunks and shapes, with and without recomputation.
// Planned orders come without a cap: whoever judges them chooses it. Copies of
// the whole model (D = 1, one chunk), which all schemes treat alike, come once.
//
// Schedules of more than a million forwards (stages x micro-batches) are left
// out: judging them would take longer than larger micro-batches can lose.
#pragma once

#include <vector>

#include "chimera/base/result.h"
#include "chimera/plan/plan.h"

namespace chimera {

// The legal candidates, by scheme. Errors:
//   E603 an unknown scheme, or an asynchronous one with tied embeddings,
//        clipping or skipped updates
//   E610 no way to divide batch and workers evenly
//   E612 more copies of the model than samples, however deep the pipes
//   E613 no scheme of those asked for has a legal layout
// each with the nearest request that would work.
[[nodiscard]] Result<std::vector<Candidate>> candidates_of(
    const PlanRequest& request);

}  // namespace chimera
