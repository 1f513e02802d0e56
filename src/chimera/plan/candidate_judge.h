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

// The step time of a plan; infinite if there is no plan.
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

  // A lower bound of the time of every order of the candidate, however few
  // layers it recomputes. Found without making an order.
  double bound(const Candidate& layout);

  // A plan for the candidate with cut and bytes but without times. REQUIRES,
  // here and below: `order` is the candidate's, compute-only.
  Plan sized(const Candidate& candidate, const Schedule& order);
  [[nodiscard]] bool fits(const Plan& plan) const {
    return plan.peak.total() <= request_.memory_bytes;
  }
  // False if no order of the layout fits, however few micro-batches it holds
  // and however many layers it recomputes. REQUIRES: `layout` is synchronous.
  bool might_fit(const Candidate& layout);
  // The fewest layers whose recomputation makes the candidate fit: none, or
  // all if even that does not.
  Recompute least_recompute(const Candidate& candidate, const Schedule& order);
  // Sets the plan's step time and its best way to synchronise.
  void time(const Schedule& order, Plan& plan);
  // Sets where the step time goes.
  void explain(const Schedule& order, Plan& plan);

 private:
  const StagedModel& model(const Candidate& candidate);
  [[nodiscard]] bool recomputes_all(const Candidate& candidate, int layers);

  const PlanRequest& request_;
  // A cache: candidates are many, but cut and costs depend on few numbers.
  std::map<std::tuple<int, int, bool, int, Recompute>, StagedModel> models_;
};

}  // namespace chimera
