// Finds the fastest way to train a model on a number of workers under a memory
// limit.
//
// For every scheme, candidates (candidates.h) are taken in the order of their
// lower bounds (time_bound.h). A candidate is dropped if its bound, or the end
// of its order with free communication, is no better than the best found; all
// others are judged. The answer is therefore the best of the whole space.
//
// One exception: planned orders are searched in rounds (planned_choice.h),
// because a search takes seconds. Layouts with a depth of 1 compete with each
// other, whatever their scheme.
#pragma once

#include "chimera/base/result.h"
#include "chimera/plan/plan.h"

namespace chimera {

// Errors are those of candidates.h, and
//   E611 nothing fits the memory; names what the most frugal layout needs.
[[nodiscard]] Result<PlanReport> make_plans(const PlanRequest& request);

// Returns `base` with the schedule and cut of the plan. `order_file`: where the
// plan's order will be stored, if it has one; if empty, the run plans its own.
[[nodiscard]] RunConfig with_plan(RunConfig base, const Plan& plan,
                                  const std::string& order_file = "");

}  // namespace chimera
