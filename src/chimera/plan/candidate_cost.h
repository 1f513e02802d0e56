// How long a step of one candidate takes, by the simulator or by the paper's
// formula, and where that time goes.
#pragma once

#include <optional>

#include "chimera/plan/plan.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct CostOptions {
  CostModel model = CostModel::kSimulate;
  bool tied = false;
  bool vote_gates_update = false;
  bool late_vote = false;
  double jitter = 0;  // of the profile
};

struct CandidateCost {
  double step_s = 0;
  Sync sync = Sync::kEagerOpt;
};

// What holds for a candidate under a request.
[[nodiscard]] CostOptions cost_options(const PlanRequest& request,
                                       const Candidate& candidate);

// Whether synchronous schemes keep what it takes to undo an update.
[[nodiscard]] bool undoes_updates(const PlanRequest& request);

// With one way to synchronise.
[[nodiscard]] double step_time(const Candidate& candidate,
                               const Schedule& schedule, const Costs& costs,
                               Sync sync, const CostOptions& options);

// The best way to synchronise and its time. A synchronous step by itself,
// which all workers begin together; of an asynchronous scheme what one more
// step costs.
// REQUIRES: `schedule` is the candidate's, compute-only.
[[nodiscard]] CandidateCost candidate_cost(const Candidate& candidate,
                                           const Schedule& schedule,
                                           const Costs& costs,
                                           const CostOptions& options);

// Where step_s of the cost goes: the same step once more with free sums, and
// with free messages too. `memory` is left at 0.
[[nodiscard]] PlanTimes times_of(const Candidate& candidate,
                                 const Schedule& schedule, const Costs& costs,
                                 const CandidateCost& cost,
                                 const CostOptions& options);

// The formula's answer for the best way to synchronise.
[[nodiscard]] double least_paper_time(const Candidate& candidate,
                                      const Costs& costs);

// The end of the order with messages, sums and updates all free: no model says
// less. Quicker than any of them.
[[nodiscard]] double order_bound(const Candidate& candidate,
                                 const Schedule& schedule, const Costs& costs);

}  // namespace chimera
