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

#include <functional>
#include <optional>

#include "chimera/base/result.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/list_scheduling/problem.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/schedule.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

// How far a search is.
struct SearchProgress {
  // Share of the orders that may be tried, from 0 to 1. It starts again at 0
  // when another variant of the problem is searched.
  double share = 0;
  double best = 0;  // time of the best order so far
};
using OnProgress = std::function<void(const SearchProgress& progress)>;

struct SearchOptions {
  ordering::MemoryCap cap;
  // True: shorten the period, the time from step to step without a barrier.
  // False: shorten the makespan, the time of one step by itself.
  bool steady = false;
  LowerOptions lowering;  // its costs are ignored
  double effort = 1;      // multiplies the number of orders tried
  // Standard deviation of the times, as in SimulateOptions. If not 0, the order
  // that is faster under this noise is preferred, even if it is a little slower
  // without.
  double jitter = 0;
  OnProgress on_progress = {};  // called some dozens of times; may be empty
};

// True if the order of the schedule's scheme depends on costs and cap.
[[nodiscard]] bool depends_on_costs(const Schedule& schedule);

// The best order found for the placement and micro-batches of `schedule`.
// REQUIRES: `schedule` is compute-only, validates clean and stays within the
// cap; the cap leaves room for one activation of every stage that a worker
// holds. ENSURES: in the simulator the result is no slower than `schedule`, or
// than any named scheme on that placement within the cap, by the measure that
// `options.steady` and `options.jitter` name; schemes that halve backwards are
// not compared.
[[nodiscard]] Schedule search_order(const Schedule& schedule,
                                    const Costs& costs,
                                    const SearchOptions& options);

struct OrderRequest {
  ScheduleSpec spec;
  LowerOptions lowering;  // its costs are ignored
  bool steady = false;    // as in SearchOptions
  double effort = 1;      // as in SearchOptions
  double jitter = 0;      // as in SearchOptions
  // If set, the most bytes of activations that a worker may hold, instead of
  // the cap of `spec`.
  std::optional<double> cap_bytes = {};
  OnProgress on_progress = {};
};

// Refuses a cap in bytes if the costs tell no bytes of activations.
[[nodiscard]] Diagnostics check_bytes_known(const Schedule& layout,
                                            const Costs& costs, double cap);

// Reasons why no order of `layout` can be found within a cap in bytes: the
// costs tell no bytes or, if the order is searched for, a worker cannot hold
// one activation of each of its stages.
[[nodiscard]] Diagnostics check_cap_bytes(const Schedule& layout,
                                          const Costs& costs, double cap);

// The order to run for `costs`: the best one found from `start` if the
// scheme's order depends on costs, else `start` itself. Commands, the planner
// and `train` all take their orders from here.
// REQUIRES: `start` is a compute-only schedule of `request.spec`;
// check_cap_bytes() finds nothing.
[[nodiscard]] Schedule make_order(const OrderRequest& request,
                                  const Schedule& start, const Costs& costs);

}  // namespace chimera
