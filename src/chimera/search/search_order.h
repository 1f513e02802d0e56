// Searches for the best order of actions: for any placement and any costs,
// under a cap on what a worker holds. docs/planned-orders.md explains how.
//
//   rules          list scheduling by fixed rules
//                  (schedule/list_scheduling/rules.h)
//   draws          list scheduling by rules with random parameters
//   list search    local search on the lists, from the best of those and from
//                  every named scheme on the same placement within the cap
//   justification  passes forwards and backwards in time (justify.h), from all
//                  of those and from orders for fewer micro-batches
//   judge          the simulator, on the lowered lists
//
// The search stops when it meets the lower bound. Its budget counts orders
// tried, never time, and each random number depends only on where it is used:
// the same input gives the same order on every machine.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/schedule/list_scheduling/problem.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/schedule.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

struct SearchOptions {
  ordering::MemoryCap cap;
  // True: shorten the period, the time from step to step without a barrier.
  // False: shorten the makespan, the time of one step by itself.
  bool steady = false;
  LowerOptions lowering;  // its costs are ignored
  double effort = 1;      // multiplies the number of orders tried
};

// True if the order of the schedule's scheme depends on costs and cap.
[[nodiscard]] bool depends_on_costs(const Schedule& schedule);

// The best order found for the placement and micro-batches of `schedule`.
// REQUIRES: `schedule` is compute-only, validates clean and keeps the cap; the
// cap leaves room for one activation of every stage that a worker holds.
// ENSURES: in the simulator the result is no slower than `schedule`, or than
// any named scheme on that placement within the cap, by the measure that
// `options.steady` names; schemes that halve backwards are not compared.
[[nodiscard]] Schedule search_order(const Schedule& schedule,
                                    const Costs& costs,
                                    const SearchOptions& options);

struct OrderRequest {
  ScheduleSpec spec;
  LowerOptions lowering;  // its costs are ignored
  bool steady = false;    // as in SearchOptions
  double effort = 1;      // as in SearchOptions
};

// The order to run for `costs`: the best one found from `start` if the
// scheme's order depends on costs, else `start` itself. Commands, the planner
// and `train` all take their orders from here.
// REQUIRES: `start` is a compute-only schedule of `request.spec`.
[[nodiscard]] Schedule make_order(const OrderRequest& request,
                                  const Schedule& start, const Costs& costs);

}  // namespace chimera
