#include "chimera/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "chimera/plan/candidate_cost.h"
#include "chimera/plan/candidates.h"
#include "chimera/plan/plan_changes.h"
#include "chimera/plan/time_bound.h"
#include "chimera/search/search_order.h"

namespace chimera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Keeps staged models, since many candidates share cut and costs.
class StagedModels {
 public:
  explicit StagedModels(const PlanRequest& request) : request_(request) {}

  const StagedModel& of(const Candidate& candidate) {
    const ScheduleSpec& spec = candidate.spec;
    const auto key = std::tuple(
        spec.depth * *spec.chunks, candidate.micro_batch,
        spec.scale == Scale::kHalving, update_holders(request_, candidate));
    const auto found = models_.find(key);
    if (found != models_.end()) return found->second;
    return models_.emplace(key, staged_model(request_, candidate))
        .first->second;
  }

 private:
  const PlanRequest& request_;
  std::map<std::tuple<int, int, bool, int>, StagedModel> models_;
};

struct Bounded {
  const Candidate* candidate = nullptr;
  double bound = 0;
};

struct Found {
  std::optional<Plan> fitting;
  std::optional<Plan> any;  // best without the memory limit
};

double time_of(const std::optional<Plan>& plan) {
  if (!plan) return kInfinity;
  return plan->step_s;
}

class Planner {
 public:
  Planner(const PlanRequest& request, std::vector<Candidate> candidates)
      : request_(request),
        candidates_(std::move(candidates)),
        models_(request) {}

  Result<PlanReport> run() {
    report_.candidates = static_cast<int>(candidates_.size());
    std::optional<Plan> fastest;
    for (const auto& [scheme, bounded] : by_scheme()) {
      Found found = search(bounded);
      if (time_of(found.any) < time_of(fastest)) fastest = found.any;
      if (!found.fitting) continue;
      const Schedule order = refined(*found.fitting);
      explain(order, *found.fitting);
      if (depends_on_costs(order)) found.fitting->order = order;
      found.fitting->times.memory =
          std::max(0.0, found.fitting->step_s - time_of(found.any));
      report_.plans.push_back(std::move(*found.fitting));
    }
    if (report_.plans.empty()) return nothing_fits();
    std::stable_sort(
        report_.plans.begin(), report_.plans.end(),
        [](const Plan& a, const Plan& b) { return a.step_s < b.step_s; });
    if (fastest->peak.total() > request_.memory_bytes &&
        fastest->step_s < report_.plans[0].step_s) {
      explain(make_schedule(fastest->candidate.spec).value(), *fastest);
      report_.too_large.push_back(*fastest);
    }
    report_.changes = what_would_change(request_, report_.plans);
    return report_;
  }

 private:
  // Groups candidates by scheme, each group sorted by bound.
  std::map<std::string, std::vector<Bounded>> by_scheme() {
    std::map<std::string, std::vector<Bounded>> schemes;
    for (const Candidate& candidate : candidates_) {
      // The paper's formula needs no order, so it is its own bound.
      const double bound = request_.cost_model == CostModel::kSimulate
                               ? time_bound(candidate, costs(candidate))
                               : least_paper_time(candidate, costs(candidate));
      schemes[candidate.spec.scheme].push_back({&candidate, bound});
    }
    for (auto& [scheme, bounded] : schemes) {
      std::stable_sort(
          bounded.begin(), bounded.end(),
          [](const Bounded& a, const Bounded& b) { return a.bound < b.bound; });
    }
    return schemes;
  }

  Found search(const std::vector<Bounded>& candidates) {
    Found found;
    for (const Bounded& next : candidates) {
      if (next.bound >= time_of(found.fitting)) break;
      consider(*next.candidate, next.bound, found);
    }
    return found;
  }

  void consider(const Candidate& candidate, double bound, Found& found) {
    const Schedule schedule = make_schedule(candidate.spec).value();
    Plan plan{.candidate = candidate,
              .cut = models_.of(candidate).cut,
              .peak = peak_bytes(memory(candidate, schedule))};
    const double bytes = plan.peak.total();
    const bool fits = bytes <= request_.memory_bytes;
    if (!most_frugal_ || bytes < most_frugal_->peak.total()) {
      most_frugal_ = plan;
    }
    const double limit = fits ? time_of(found.fitting) : time_of(found.any);
    if (bound >= limit) return;
    if (request_.cost_model == CostModel::kSimulate &&
        order_bound(candidate, schedule, costs(candidate)) >= limit) {
      return;
    }
    ++report_.judged;
    const CandidateCost cost = candidate_cost(
        candidate, schedule, costs(candidate), options(candidate));
    plan.step_s = cost.step_s;
    plan.sync = cost.sync;
    if (plan.step_s < time_of(found.any)) found.any = plan;
    if (fits && plan.step_s < time_of(found.fitting)) {
      found.fitting = std::move(plan);
    }
  }

  // The plan's order. A planned order is searched further unless it is too
  // long, and the plan's times are updated.
  Schedule refined(Plan& plan) {
    constexpr size_t kMostActions = 4000;
    const Candidate& candidate = plan.candidate;
    Schedule schedule = make_schedule(candidate.spec).value();
    if (request_.cost_model != CostModel::kSimulate ||
        !depends_on_costs(schedule) || num_actions(schedule) > kMostActions) {
      return schedule;
    }
    const CostOptions settings = options(candidate);
    Schedule better = make_order(
        {.spec = candidate.spec,
         .lowering = {.sync = plan.sync,
                      .recompute = candidate.recompute,
                      .tied = settings.tied,
                      .vote_gates_update = settings.vote_gates_update,
                      .late_vote = settings.late_vote}},
        schedule, costs(candidate));
    const WorkerBytes peak = peak_bytes(memory(candidate, better));
    if (peak.total() > request_.memory_bytes) return schedule;
    const CandidateCost cost =
        candidate_cost(candidate, better, costs(candidate), options(candidate));
    if (cost.step_s >= plan.step_s) return schedule;
    plan.step_s = cost.step_s;
    plan.sync = cost.sync;
    plan.peak = peak;
    return better;
  }

  void explain(const Schedule& order, Plan& plan) {
    plan.times = times_of(plan.candidate, order, costs(plan.candidate),
                          {plan.step_s, plan.sync}, options(plan.candidate));
    plan.bubble_ratio =
        1 - (plan.times.compute + plan.times.recompute) / plan.step_s;
  }

  [[nodiscard]] Diagnostic nothing_fits() const {
    const Plan& plan = *most_frugal_;
    const Candidate& candidate = plan.candidate;
    return {
        .code = "E611",
        .found = fmt::format("{:.2f} GB a worker", request_.memory_bytes / 1e9),
        .needed = fmt::format(
            "is not enough: the most frugal layout, {} with depth {}, width "
            "{}, micro-batch {}{}, needs {:.2f} GB ({:.2f} of weights, "
            "gradients and optimizer)",
            candidate.spec.scheme, candidate.spec.depth, candidate.spec.width,
            candidate.micro_batch,
            candidate.recompute ? " and recomputation" : "",
            plan.peak.total() / 1e9,
            (plan.peak.weights + plan.peak.gradients + plan.peak.optimizer) /
                1e9),
        .hint = fmt::format("use --memory {}MB, or more workers",
                            static_cast<long>(plan.peak.total() / 1e6) + 1)};
  }

  const Costs& costs(const Candidate& candidate) {
    return models_.of(candidate).costs;
  }

  std::vector<WorkerBytes> memory(const Candidate& candidate,
                                  const Schedule& schedule) {
    return worker_bytes(schedule, models_.of(candidate),
                        {.recompute = candidate.recompute,
                         .shard_update = request_.shard_update,
                         .saves = request_.saves,
                         .undoes_updates = undoes_updates(request_)});
  }

  [[nodiscard]] CostOptions options(const Candidate& candidate) const {
    return cost_options(request_, candidate);
  }

  const PlanRequest& request_;
  std::vector<Candidate> candidates_;
  StagedModels models_;
  std::optional<Plan> most_frugal_;
  PlanReport report_;
};

}  // namespace

Result<PlanReport> make_plans(const PlanRequest& request) {
  Result<std::vector<Candidate>> candidates = candidates_of(request);
  if (!candidates) return candidates.errors();
  return Planner(request, std::move(candidates).value()).run();
}

RunConfig with_plan(RunConfig base, const Plan& plan,
                    const std::string& order_file) {
  base.schedule = {.spec = plan.candidate.spec,
                   .micro_batch = plan.candidate.micro_batch,
                   .recompute = plan.candidate.recompute,
                   .sync = plan.sync,
                   .cut = plan.cut};
  if (plan.order) base.schedule.file = order_file;
  return base;
}

}  // namespace chimera
