// Judges candidates of one request: what a schedule of a candidate takes in
// seconds and bytes.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "chimera/plan/candidate_cost.h"
#include "chimera/plan/plan.h"

namespace chimera {

// The plan's step time; infinite if there is no plan.
[[nodiscard]] inline double time_of(const std::optional<Plan>& plan) {
  if (!plan) return std::numeric_limits<double>::infinity();
  return plan->step_s;
}

class CandidateJudge {
 public:
  // REQUIRES: `request` outlives this.
  explicit CandidateJudge(const PlanRequest& request) : request_(request) {}

  [[nodiscard]] const PlanRequest& request() const { return request_; }
  const Costs& costs(const Candidate& candidate) {
    return model(candidate).costs;
  }
  [[nodiscard]] CostOptions options(const Candidate& candidate) const {
    return cost_options(request_, candidate);
  }

  // No order of the candidate takes less; found without making one.
  double bound(const Candidate& candidate);

  // The candidate with its cut and bytes; its times are not set.
  // REQUIRES, here and below: `order` is the candidate's, compute-only.
  Plan sized(const Candidate& candidate, const Schedule& order);
  [[nodiscard]] bool fits(const Plan& plan) const {
    return plan.peak.total() <= request_.memory_bytes;
  }
  // Sets the plan's step time and its best way to synchronise.
  void time(const Schedule& order, Plan& plan);
  // Sets where the step time goes.
  void explain(const Schedule& order, Plan& plan);

 private:
  const StagedModel& model(const Candidate& candidate);

  const PlanRequest& request_;
  // Cut and costs depend on few numbers, and candidates are many.
  std::map<std::tuple<int, int, bool, int>, StagedModel> models_;
};

}  // namespace chimera
