#include "chimera/plan/plan_changes.h"

#include <algorithm>
#include <optional>

#include "chimera/plan/candidate_cost.h"
#include "chimera/plan/paper_model.h"

namespace chimera {
namespace {

constexpr size_t kMostPlans = 5;
// Times closer than this count as equal.
constexpr double kClear = 0.999;

using What = PlanChange::What;

void scale(LinkProfile& link, double factor) {
  link.latency_s *= factor;
  link.s_per_byte *= factor;
  link.s_per_message *= factor;
  link.node_s_per_byte *= factor;
}

class Changes {
 public:
  Changes(const PlanRequest& request, const std::vector<Plan>& plans)
      : request_(request),
        plans_(plans.begin(), plans.begin() + static_cast<long>(std::min(
                                                  plans.size(), kMostPlans))) {}

  std::vector<PlanChange> run() {
    for (const What what : {What::kSlowerLinks, What::kFasterLinks}) {
      for (const double factor : {2.0, 4.0, 8.0, 16.0}) {
        if (try_links(what, factor)) break;
      }
    }
    // A planned order for another batch would have to be searched for.
    const bool is_planned = !plans_.empty() && plans_.front().order;
    if (!is_planned) {
      try_batch(What::kSmallerBatch);
      try_batch(What::kLargerBatch);
    }
    return found_;
  }

 private:
  bool try_links(What what, double factor) {
    PlanRequest other = request_;
    const double times = what == What::kSlowerLinks ? factor : 1 / factor;
    scale(other.profile.link, times);
    scale(other.profile.sum, times);
    if (other.profile.node) {
      other.profile.node->latency_s *= times;
      other.profile.node->s_per_byte *= times;
    }
    std::vector<std::optional<double>> steps;
    for (const Plan& plan : plans_) {
      const Schedule order =
          plan.order ? *plan.order : make_schedule(plan.candidate.spec).value();
      steps.push_back(time_of(other, plan.candidate, order, plan.sync));
    }
    return note(what, factor, steps);
  }

  void try_batch(What what) {
    std::vector<std::optional<double>> steps;
    for (const Plan& plan : plans_) {
      steps.push_back(time_with_batch(plan, what));
    }
    note(what, 2, steps);
  }

  // Empty if the layout is not legal, does not fit, or has a planned order.
  [[nodiscard]] std::optional<double> time_with_batch(const Plan& plan,
                                                      What what) const {
    if (plan.order) return {};
    Candidate candidate = plan.candidate;
    int& micros = candidate.spec.micros;
    if (what == What::kSmallerBatch && micros % 2 != 0) return {};
    micros = what == What::kSmallerBatch ? micros / 2 : micros * 2;
    if (!resolve(candidate.spec)) return {};
    if (request_.cost_model == CostModel::kPaper &&
        !path_counts(candidate.spec)) {
      return {};
    }
    const Schedule order = make_schedule(candidate.spec).value();
    const WorkerBytes peak =
        peak_bytes(worker_bytes(order, staged_model(request_, candidate),
                                {.recompute = bool{candidate.recompute},
                                 .shard_update = request_.shard_update,
                                 .saves = request_.saves,
                                 .undoes_updates = undoes_updates(request_)}));
    if (peak.total() > request_.memory_bytes) return {};
    return time_of(request_, candidate, order, plan.sync);
  }

  [[nodiscard]] static double time_of(const PlanRequest& request,
                                      const Candidate& candidate,
                                      const Schedule& order, Sync sync) {
    return step_time(candidate, order, staged_model(request, candidate).costs,
                     sync, cost_options(request, candidate));
  }

  // Returns whether another plan than the first is now the fastest.
  bool note(What what, double factor,
            const std::vector<std::optional<double>>& steps) {
    std::optional<size_t> best;
    for (size_t plan = 0; plan < steps.size(); ++plan) {
      if (!steps[plan]) continue;
      if (!best || *steps[plan] < *steps[*best] * kClear) best = plan;
    }
    if (!best || *best == 0) return false;
    found_.push_back({.what = what,
                      .factor = factor,
                      .plan = *best,
                      .step_s = *steps[*best],
                      .first_step_s = steps[0]});
    return true;
  }

  const PlanRequest& request_;
  std::vector<Plan> plans_;
  std::vector<PlanChange> found_;
};

}  // namespace

std::vector<PlanChange> what_would_change(const PlanRequest& request,
                                          const std::vector<Plan>& plans) {
  return Changes(request, plans).run();
}

int update_holders(const PlanRequest& request, const Candidate& candidate) {
  if (!request.shard_update) return 1;
  return *candidate.spec.pipes * candidate.spec.width;
}

StagedModel staged_model(const PlanRequest& request,
                         const Candidate& candidate) {
  const ScheduleSpec& spec = candidate.spec;
  return staged_model(request.model, request.profile,
                      {.stages = spec.depth * *spec.chunks,
                       .micro_batch = candidate.micro_batch,
                       .parts = spec.scale == Scale::kHalving ? 2 : 1,
                       .optimizer = request.optimizer,
                       .momentum = request.momentum,
                       .precision = request.precision,
                       .update_holders = update_holders(request, candidate),
                       .recompute = candidate.recompute});
}

}  // namespace chimera
