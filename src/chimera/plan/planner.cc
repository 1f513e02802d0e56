#include "chimera/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "chimera/plan/candidate_judge.h"
#include "chimera/plan/candidates.h"
#include "chimera/plan/plan_changes.h"
#include "chimera/plan/planned_choice.h"
#include "chimera/schedule/validate.h"

namespace chimera {
namespace {

struct Bounded {
  const Candidate* candidate = nullptr;
  double bound = 0;
};

struct Found {
  std::optional<Plan> fitting;
  std::optional<Plan> any;  // best without the memory limit
};

class Planner {
 public:
  Planner(const PlanRequest& request, std::vector<Candidate> candidates)
      : request_(request),
        candidates_(std::move(candidates)),
        judge_(request) {}

  Result<PlanReport> run() {
    report_.candidates = static_cast<int>(candidates_.size());
    std::optional<Plan> fastest;
    for (const auto& [name, group] : groups()) {
      const bool is_planned = find_scheme(group[0]->spec.scheme)->any_cap;
      Found found = is_planned ? search_orders(group) : search(group);
      if (time_of(found.any) < time_of(fastest)) fastest = found.any;
      if (!found.fitting) continue;
      Plan& plan = *found.fitting;
      judge_.explain(order_of(plan), plan);
      // What the memory limit costs: the scheme's best plan without one may be
      // faster.
      plan.times.memory = std::max(0.0, plan.step_s - time_of(found.any));
      add(std::move(plan));
    }
    if (report_.plans.empty()) return nothing_fits();
    std::stable_sort(
        report_.plans.begin(), report_.plans.end(),
        [](const Plan& a, const Plan& b) { return a.step_s < b.step_s; });
    // A plan that is too large but faster than all others is shown apart: it
    // tells what more memory would give.
    if (!judge_.fits(*fastest) && fastest->step_s < report_.plans[0].step_s) {
      judge_.explain(order_of(*fastest), *fastest);
      fastest->order.reset();
      report_.too_large.push_back(*fastest);
    }
    report_.changes = what_would_change(request_, report_.plans);
    return report_;
  }

 private:
  using Group = std::vector<const Candidate*>;

  // The candidates by scheme. Those without a pipeline (D = 1) compete with
  // each other whatever their scheme, except planned ones, which have a group
  // of their own.
  [[nodiscard]] std::map<std::string, Group> groups() const {
    std::map<std::string, Group> groups;
    for (const Candidate& candidate : candidates_) {
      const std::string kind = is_data_parallel(candidate) ? "D=1 " : "";
      const bool is_planned = find_scheme(candidate.spec.scheme)->any_cap;
      groups[kind.empty() || is_planned ? kind + candidate.spec.scheme : kind]
          .push_back(&candidate);
    }
    return groups;
  }

  // Adds `plan`. Data parallelism is listed once, by its best plan, whatever
  // its scheme.
  void add(Plan plan) {
    for (Plan& other : report_.plans) {
      if (!is_data_parallel(plan.candidate) ||
          !is_data_parallel(other.candidate)) {
        continue;
      }
      if (plan.step_s < other.step_s) other = std::move(plan);
      return;
    }
    report_.plans.push_back(std::move(plan));
  }

  [[nodiscard]] static Schedule order_of(const Plan& plan) {
    return plan.order ? *plan.order
                      : make_schedule(plan.candidate.spec).value();
  }

  Found search_orders(const Group& layouts) {
    PlannedChoice choice = choose_planned(layouts, judge_);
    report_.judged += choice.judged;
    if (choice.most_frugal) note_frugal(*choice.most_frugal);
    return {std::move(choice.fitting), std::move(choice.any)};
  }

  // Judges candidates in the order of their bounds, the lowest first.
  Found search(const Group& candidates) {
    std::vector<Bounded> bounded;
    for (const Candidate* candidate : candidates) {
      bounded.push_back({candidate, judge_.bound(*candidate)});
    }
    std::stable_sort(
        bounded.begin(), bounded.end(),
        [](const Bounded& a, const Bounded& b) { return a.bound < b.bound; });
    Found found;
    for (const Bounded& next : bounded) {
      // All later bounds are larger, so no later candidate can be better.
      if (next.bound >= time_of(found.fitting)) break;
      consider(*next.candidate, next.bound, found);
    }
    return found;
  }

  void consider(Candidate candidate, double bound, Found& found) {
    const Schedule schedule = make_schedule(candidate.spec).value();
    if (candidate.recompute) {
      candidate.recompute = judge_.least_recompute(candidate, schedule);
      if (!candidate.recompute) return;  // another candidate
    }
    Plan plan = judge_.sized(candidate, schedule);
    note_frugal(plan);
    const bool fits = judge_.fits(plan);
    // A plan that does not fit is of interest only if it is the fastest without
    // a memory limit.
    const double limit = fits ? time_of(found.fitting) : time_of(found.any);
    if (bound >= limit) return;
    // A closer bound is the end of this order with free communication.
    if (request_.cost_model == CostModel::kSimulate &&
        order_bound(candidate, schedule, judge_.costs(candidate)) >= limit) {
      return;
    }
    ++report_.judged;
    judge_.time(schedule, plan);
    if (plan.step_s < time_of(found.any)) found.any = plan;
    if (fits && plan.step_s < time_of(found.fitting)) {
      found.fitting = std::move(plan);
    }
  }

  void note_frugal(const Plan& plan) {
    if (!most_frugal_ || plan.peak.total() < most_frugal_->peak.total()) {
      most_frugal_ = plan;
    }
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

  const PlanRequest& request_;
  std::vector<Candidate> candidates_;
  CandidateJudge judge_;
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
  if (plan.order) {
    base.schedule.file = order_file;
    // A run has no profile, so it counts the whole activation as held until W
    // ends.
    std::optional<double>& cap = base.schedule.spec.cap;
    if (!validate(*plan.order, {.cap = cap}).empty()) cap.reset();
  }
  return base;
}

}  // namespace chimera
