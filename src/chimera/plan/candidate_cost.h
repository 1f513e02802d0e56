// The time of one candidate's step, by the simulator or by the paper's formula,
// and where that time goes.
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

// The cost options of a candidate under a request.
[[nodiscard]] CostOptions cost_options(const PlanRequest& request,
                                       const Candidate& candidate);

// Whether synchronous schemes keep a copy of what an update changes, to undo
// it.
[[nodiscard]] bool undoes_updates(const PlanRequest& request);

// Step time with one given way to synchronise.
[[nodiscard]] double step_time(const Candidate& candidate,
                               const Schedule& schedule, const Costs& costs,
                               Sync sync, const CostOptions& options);

// The best way to synchronise, and its time. For a synchronous scheme this is
// the time of a single step that all workers begin together; for an
// asynchronous one, the time that one more step adds. REQUIRES: `schedule` is
// the candidate's, compute-only.
[[nodiscard]] CandidateCost candidate_cost(const Candidate& candidate,
                                           const Schedule& schedule,
                                           const Costs& costs,
                                           const CostOptions& options);

// Divides step_s of `cost` by cause: the step is simulated again with free
// sums, and then with free messages too. `memory` is left at 0.
[[nodiscard]] PlanTimes times_of(const Candidate& candidate,
                                 const Schedule& schedule, const Costs& costs,
                                 const CandidateCost& cost,
                                 const CostOptions& options);

// The paper's formula for the best way to synchronise.
[[nodiscard]] double least_paper_time(const Candidate& candidate,
                                      const Costs& costs);

// The end of the order if messages, sums and updates are free: a lower bound
// under every cost model, quicker to compute than any model's time.
[[nodiscard]] double order_bound(const Candidate& candidate,
                                 const Schedule& schedule, const Costs& costs);

}  // namespace chimera
