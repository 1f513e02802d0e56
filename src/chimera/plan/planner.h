// The planner: the fastest way to train a model on so many workers under a
// memory limit.
//
// For every scheme the candidates of candidates.h are taken in the order of
// time_bound.h. One is dropped when its bound, or the end of its order with
// free communication, is no better than what is found already; all others are
// judged. So the answer is the best of the whole space, and only bounds decide
// what is not looked at. One exception is said openly: planned orders are
// compared by their first order, and only the best of them is searched further
// (search_order.h), as a search takes seconds.
#pragma once

#include "chimera/base/result.h"
#include "chimera/plan/plan.h"

namespace chimera {

// Errors of candidates.h, and
//   E611 nothing fits the memory; says what the most frugal layout needs.
[[nodiscard]] Result<PlanReport> make_plans(const PlanRequest& request);

// `base` with the plan's schedule, cut included, in place of its own.
// `order_file` is where the plan's order will be, if it has one; where empty, a
// run plans its own.
[[nodiscard]] RunConfig with_plan(RunConfig base, const Plan& plan,
                                  const std::string& order_file = "");

}  // namespace chimera
