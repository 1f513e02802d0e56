#include "chimera/plan/planned_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chimera/search/quick_order.h"
#include "chimera/search/search_order.h"
#include "chimera/simulate/bound.h"

namespace chimera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A round of searches: how far each goes, and which plans take part.
struct Round {
  double effort = 1;
  size_t most = 0;    // plans
  double within = 1;  // times the best plan's step
};
constexpr Round kShort{.effort = 0.02, .most = 24, .within = 1.3};
constexpr Round kFull{.effort = 1, .most = 4, .within = 1.05};

// Caps are counted in chunks: a worker's activations come and go by chunks.
int chunks_of(const ScheduleSpec& spec) {
  return static_cast<int>(std::lround(*resolve(spec)->cap * *spec.chunks));
}

// The default is left to the default.
void set_cap(ScheduleSpec& spec, int chunks) {
  spec.cap.reset();
  if (chunks != chunks_of(spec)) {
    spec.cap = static_cast<double>(chunks) / *spec.chunks;
  }
}

class PlannedSearch {
 public:
  explicit PlannedSearch(CandidateJudge& judge) : judge_(judge) {}

  PlannedChoice run(const std::vector<const Candidate*>& layouts) {
    std::vector<std::pair<double, const Candidate*>> bounded;
    bounded.reserve(layouts.size());
    for (const Candidate* layout : layouts) {
      bounded.emplace_back(judge_.bound(*layout), layout);
    }
    std::stable_sort(
        bounded.begin(), bounded.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [bound, layout] : bounded) {
      if (bound >= best_time()) break;
      begin(*layout, bound);
    }
    search(kShort);
    search(kFull);
    try_caps();
    sort();
    if (!plans_.empty()) choice_.fitting = std::move(plans_.front());
    return std::move(choice_);
  }

 private:
  // Judges the layout by orders of fixed rules. If the default cap fits the
  // memory, larger caps are tried too; if not, the cap is lowered until it
  // fits.
  void begin(const Candidate& layout, double bound) {
    Candidate candidate = layout;
    const int least = *layout.spec.pipes * *layout.spec.chunks;
    int cap = std::min(chunks_of(layout.spec),
                       layout.spec.micros * *layout.spec.chunks);
    for (cap = std::max(cap, least); cap >= least;) {
      set_cap(candidate.spec, cap);
      Plan plan = made(candidate);
      const double over = plan.peak.total() - judge_.request().memory_bytes;
      if (over <= 0) {
        ++choice_.judged;
        const std::vector<int> larger = larger_caps(plan);
        keep(std::move(plan));
        for (const int more : larger) {
          set_cap(candidate.spec, more);
          keep(made(candidate));
        }
        return;
      }
      if (bound < time_of(choice_.any) && !candidate.spec.cap) {
        judge_.time(*plan.order, plan);
        note_any(plan);
      }
      const double room_of_one = plan.peak.activations / cap;
      cap -= room_of_one > 0 ? std::max(1, static_cast<int>(over / room_of_one))
                             : cap;
    }
  }

  // Times the plan and keeps it if it fits.
  void keep(Plan plan) {
    if (!judge_.fits(plan)) return;
    judge_.time(*plan.order, plan);
    note_any(plan);
    plans_.push_back(std::move(plan));
  }

  // The plan of fixed rules, not timed.
  Plan made(const Candidate& candidate) {
    Schedule order = quick_order(candidate.spec, judge_.costs(candidate),
                                 candidate.recompute);
    Plan plan = judge_.sized(candidate, order);
    if (!choice_.most_frugal ||
        plan.peak.total() < choice_.most_frugal->peak.total()) {
      choice_.most_frugal = plan;
    }
    plan.order = std::move(order);
    return plan;
  }

  void note_any(const Plan& plan) {
    if (plan.step_s < time_of(choice_.any)) choice_.any = plan;
  }

  [[nodiscard]] double best_time() const {
    double best = kInfinity;
    for (const Plan& plan : plans_) best = std::min(best, plan.step_s);
    return best;
  }

  void sort() {
    std::stable_sort(
        plans_.begin(), plans_.end(),
        [](const Plan& a, const Plan& b) { return a.step_s < b.step_s; });
  }

  void search(const Round& round) {
    sort();
    const size_t most = std::min(round.most, plans_.size());
    for (size_t i = 0; i < most; ++i) {
      const double best = best_time();
      if (plans_[i].step_s > round.within * best) continue;
      if (bound_of(plans_[i]) >= best) continue;
      Plan start = plans_[i];
      if (round.effort == 1) {
        // The search that anybody else makes for this layout starts there.
        start.order = make_schedule(start.candidate.spec).value();
      }
      go_on(start, round.effort);
    }
  }

  // Searches a small layout that is the best under every cap, or many: a
  // larger cap allows more orders, but a search may find better ones under a
  // smaller one.
  void try_caps() {
    if (plans_.empty()) return;
    sort();
    const Plan best = plans_.front();
    const ScheduleSpec& spec = best.candidate.spec;
    constexpr size_t kMostActions = 1000;
    const int tries = static_cast<int>(kMostActions / num_actions(*best.order));
    if (tries < 4) return;
    const int least = *spec.pipes * *spec.chunks;
    const int most = spec.micros * *spec.chunks;
    const int each = (most - least) / tries + 1;
    Candidate candidate = best.candidate;
    for (int cap = most; cap >= least; cap -= each) {
      set_cap(candidate.spec, cap);
      Plan plan = made(candidate);
      plan.sync = best.sync;
      if (bound_of(plan) >= best_time()) continue;
      plan.order = make_schedule(candidate.spec).value();
      go_on(plan, 1);
    }
  }

  // A bound on all orders under the plan's cap.
  double bound_of(const Plan& plan) {
    const Candidate& candidate = plan.candidate;
    return lower_bound(lower(*plan.order, lowering_of(plan)),
                       judge_.costs(candidate),
                       {.cap = resolve(candidate.spec)->cap});
  }

  // Twice the default, and the largest that may fit.
  std::vector<int> larger_caps(const Plan& plan) {
    const ScheduleSpec& spec = plan.candidate.spec;
    if (spec.cap) return {};
    const int usual = chunks_of(spec);
    const double room_of_one = plan.peak.activations / usual;
    const double room = judge_.request().memory_bytes - plan.peak.total();
    const int all = spec.micros * *spec.chunks;
    const int most = static_cast<int>(
        std::min<double>(all, usual + std::floor(room / room_of_one)));
    std::vector<int> caps;
    if (2 * usual < most) caps.push_back(2 * usual);
    if (most > usual) caps.push_back(most);
    return caps;
  }

  // Searches from the plan's order and keeps what is faster and fits.
  void go_on(const Plan& start, double effort) {
    const Candidate& candidate = start.candidate;
    Schedule order = make_order({.spec = candidate.spec,
                                 .lowering = lowering_of(start),
                                 .effort = effort},
                                *start.order, judge_.costs(candidate));
    Plan plan = judge_.sized(candidate, order);
    plan.order = std::move(order);
    keep(std::move(plan));
  }

  [[nodiscard]] LowerOptions lowering_of(const Plan& plan) const {
    const CostOptions options = judge_.options(plan.candidate);
    return {.sync = plan.sync,
            .recompute = plan.candidate.recompute,
            .tied = options.tied,
            .vote_gates_update = options.vote_gates_update,
            .late_vote = options.late_vote};
  }

  CandidateJudge& judge_;
  std::vector<Plan> plans_;  // timed, with their orders; all fit
  PlannedChoice choice_;
};

}  // namespace

PlannedChoice choose_planned(const std::vector<const Candidate*>& layouts,
                             CandidateJudge& judge) {
  return PlannedSearch(judge).run(layouts);
}

}  // namespace chimera
