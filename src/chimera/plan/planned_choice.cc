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
  bool is_full = false;
  size_t most = 0;          // plans
  size_t most_actions = 0;  // of all plans searched; the first is exempt
  double within = 1;        // longest step, relative to the best
};
constexpr Round kShort{.most = 24, .most_actions = 200000, .within = 1.3};
constexpr Round kFull{
    .is_full = true, .most = 4, .most_actions = 4000, .within = 1.05};

// Effort of a short search, larger for small orders, where it costs little.
double short_effort(const Schedule& order) {
  return std::clamp(20.0 / static_cast<double>(num_actions(order)), 0.02, 0.1);
}

// A search that can gain less than this is not made.
constexpr double kNearly = 0.996;

// Caps are counted in chunks: a worker's activations come and go by chunks.
int chunks_of(const ScheduleSpec& spec) {
  return static_cast<int>(std::lround(*resolve(spec)->cap * *spec.chunks));
}

// Leaves the cap unset if it equals the default.
void set_cap(ScheduleSpec& spec, int chunks) {
  spec.cap.reset();
  if (chunks != chunks_of(spec)) {
    spec.cap = static_cast<double>(chunks) / *spec.chunks;
  }
}

bool is_same_layout(const Candidate& a, Candidate b) {
  b.spec.cap = a.spec.cap;
  return a.spec == b.spec && a.micro_batch == b.micro_batch &&
         a.recompute == b.recompute;
}

class PlannedSearch {
 public:
  explicit PlannedSearch(CandidateJudge& judge) : judge_(judge) {}

  PlannedChoice run(const std::vector<const Candidate*>& layouts) {
    std::vector<Bounded> bounded;
    bounded.reserve(layouts.size());
    for (const Candidate* layout : layouts) {
      bounded.emplace_back(judge_.bound(*layout), layout);
    }
    std::stable_sort(
        bounded.begin(), bounded.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    begin(bounded, false);
    // Nothing fits: bounds all layouts again to find how much memory would
    // suffice.
    if (plans_.empty()) begin(bounded, true);
    search(kShort);
    search(kFull);
    try_caps();
    sort();
    if (!plans_.empty()) choice_.fitting = std::move(plans_.front());
    return std::move(choice_);
  }

 private:
  using Bounded = std::pair<double, const Candidate*>;

  // Judges layouts in the order of their bounds, the lowest first. Layouts that
  // cannot fit the memory are judged only to find the fastest without a limit
  // or, with `to_the_end`, how much memory would suffice.
  void begin(const std::vector<Bounded>& layouts, bool to_the_end) {
    for (const auto& [bound, layout] : layouts) {
      if (bound >= best_time()) break;
      const bool is_tried = to_the_end || judge_.might_fit(*layout);
      if (is_tried) {
        begin(*layout, bound);
      } else if (bound < time_of(choice_.any) && !layout->recompute) {
        Plan plan = made(*layout);
        judge_.time(*plan.order, plan);
        note_any(plan);
      }
    }
  }

  // Judges the layout by orders of fixed rules. If the default cap fits the
  // memory, larger caps are tried too; if not, the cap is lowered until it
  // fits.
  void begin(const Candidate& layout, double bound) {
    Candidate candidate = layout;
    const int least = *layout.spec.pipes * *layout.spec.chunks;
    int cap = std::min(chunks_of(layout.spec),
                       layout.spec.micros * *layout.spec.chunks);
    cap = std::max(cap, least);
    if (layout.recompute) {
      set_cap(candidate.spec, cap);
      candidate.recompute =
          judge_.least_recompute(candidate, *made(candidate).order);
      if (!candidate.recompute) return;  // another layout
    }
    while (cap >= least) {
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

  // Keeps a plan that fits, with its time.
  void keep(Plan plan) {
    if (!judge_.fits(plan)) return;
    judge_.time(*plan.order, plan);
    note_any(plan);
    plans_.push_back(std::move(plan));
  }

  // Makes a plan from fixed rules, without its time.
  Plan made(const Candidate& candidate) {
    Schedule order = quick_order(candidate.spec, judge_.costs(candidate),
                                 bool{candidate.recompute});
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
    if (round.is_full) smallest_first(most);
    size_t searched = 0;  // actions
    for (size_t i = 0; i < most; ++i) {
      const double best = best_time();
      if (plans_[i].step_s > round.within * best) continue;
      if (bound_of(plans_[i]) >= kNearly * best) continue;
      Plan start = plans_[i];
      const size_t actions = num_actions(*start.order);
      if (searched > 0 && searched + actions > round.most_actions) continue;
      searched += actions;
      if (round.is_full) {
        // Starts where `train` starts, so that the search gives the order that
        // a run finds.
        start.order = make_schedule(start.candidate.spec).value();
      }
      go_on(start, round.is_full ? 1 : short_effort(*start.order));
    }
  }

  // Sorts by size those of the `most` best plans that are nearly as fast as the
  // best: a search gets further in a small plan in the same time. REQUIRES:
  // plans are sorted by step time.
  void smallest_first(size_t most) {
    const auto end = std::find_if(
        plans_.begin(), plans_.begin() + static_cast<std::ptrdiff_t>(most),
        [&](const Plan& plan) {
          return kNearly * plan.step_s > plans_.front().step_s;
        });
    std::stable_sort(plans_.begin(), end, [](const Plan& a, const Plan& b) {
      return num_actions(*a.order) < num_actions(*b.order);
    });
  }

  // Tries many caps for the best few layouts.
  void try_caps() {
    constexpr size_t kMost = 4;
    constexpr double kWithin = 1.1;
    sort();
    std::vector<Plan> layouts;
    for (const Plan& plan : plans_) {
      if (plan.step_s > kWithin * best_time() || layouts.size() == kMost) break;
      const bool is_known =
          std::any_of(layouts.begin(), layouts.end(), [&](const Plan& other) {
            return is_same_layout(plan.candidate, other.candidate);
          });
      if (!is_known) layouts.push_back(plan);
    }
    // The largest caps first: one of them is often the best, and rules out
    // most others.
    for (const bool is_first : {true, false}) {
      for (const Plan& plan : layouts) try_caps_of(plan, is_first);
    }
  }

  // Searches a small layout under its largest cap, or under the others, the
  // smallest first (some of them if they are many). A larger cap allows more
  // orders, but a search may find better ones under a smaller cap, and with
  // recomputation only those may fit.
  void try_caps_of(const Plan& best, bool is_largest) {
    const ScheduleSpec& spec = best.candidate.spec;
    constexpr size_t kMostActions = 1000;
    const int tries = static_cast<int>(kMostActions / num_actions(*best.order));
    if (tries < 4) return;
    const int fewest = *spec.pipes * *spec.chunks;
    const int largest = std::max(spec.micros * *spec.chunks, fewest);
    const int first = is_largest ? largest : fewest;
    const int end = is_largest ? largest + 1 : largest;
    const int each = (end - first) / tries + 1;
    Candidate candidate = best.candidate;
    for (int cap = first; cap < end; cap += each) {
      set_cap(candidate.spec, cap);
      Plan plan = made(candidate);
      plan.sync = best.sync;
      if (bound_of(plan) >= kNearly * best_time()) continue;
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

  // Caps above the default to try: twice the default, and the largest that may
  // fit.
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

  // Searches on from the plan's order and keeps a result that is faster and
  // fits.
  void go_on(const Plan& start, double effort) {
    const Candidate& candidate = start.candidate;
    Schedule order = make_order({.spec = candidate.spec,
                                 .lowering = lowering_of(start),
                                 .effort = effort,
                                 .jitter = judge_.options(candidate).jitter},
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
  std::vector<Plan> plans_;  // all fit; with times and orders
  PlannedChoice choice_;
};

}  // namespace

PlannedChoice choose_planned(const std::vector<const Candidate*>& layouts,
                             CandidateJudge& judge) {
  return PlannedSearch(judge).run(layouts);
}

}  // namespace chimera
