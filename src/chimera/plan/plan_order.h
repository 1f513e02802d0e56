// Planned orders: who does what when, for any placement and any costs, under a
// cap on what a worker holds. docs/planned-orders.md says how and why.
//
//   rules     list scheduling by fixed rules (schedule/planned/rules.h)
//   draws     list scheduling by rules with random parameters
//   search    local search on the lists, from the best of those and from every
//             named scheme on the same placement that keeps the cap
//   judge     the simulator, on the lowered lists
//
// Each step is skipped once the lower bound is met. The budget is counted in
// orders tried, not in time, and the random numbers are a function of nothing
// but their place: the same input gives the same order everywhere.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/planned/problem.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct PlanOptions {
  planned::MemoryCap cap;
  // For steps without a barrier between: the time from step to step counts,
  // else that of one step by itself.
  bool steady = false;
  LowerOptions lowering;  // its costs are ignored
};

// True for schemes whose order depends on costs and cap.
[[nodiscard]] bool is_planned(const Schedule& schedule);

// The best order found for the placement and micro-batches of `schedule`, which
// is one candidate itself. Never slower in the simulator than `schedule` or any
// named scheme on that placement within the cap, by the measure asked for, but
// for schemes that halve backwards.
// REQUIRES: `schedule` is compute-only, validates clean and keeps the cap; the
// cap leaves room for one activation of every stage that a worker holds.
[[nodiscard]] Schedule plan_order(const Schedule& schedule, const Costs& costs,
                                  const PlanOptions& options);

}  // namespace chimera
