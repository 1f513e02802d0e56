#include "chimera/plan/plan_order.h"

#include <algorithm>
#include <cmath>

#include "chimera/base/check.h"
#include "chimera/plan/draws.h"
#include "chimera/plan/list_search.h"
#include "chimera/plan/named_orders.h"
#include "chimera/schedule/planned/rules.h"
#include "chimera/schedule/scheme.h"
#include "chimera/simulate/bound.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace planned {
namespace {

// How many orders are tried: about a second in all for D = 16, N = 64.
struct Budget {
  int draws = 0;
  std::int64_t moves = 0;

  explicit Budget(const Problem& problem) {
    const double actions = std::max(1, problem.actions);
    draws = static_cast<int>(std::clamp(4e6 / actions, 100.0, 8000.0));
    moves =
        static_cast<std::int64_t>(std::clamp(3e7 / actions, 2000.0, 200000.0));
  }
};

class OrderPlanner {
 public:
  OrderPlanner(const Schedule& schedule, const Costs& costs,
               const PlanOptions& options)
      : schedule_(schedule),
        costs_(costs),
        options_(options),
        problem_(make_problem(
            schedule, costs,
            {.cap = options.cap, .recompute = options.lowering.recompute})),
        budget_(problem_),
        bound_(bound_in_ticks()) {
    options_.lowering.costs = &costs_;
  }

  Schedule run() {
    judge(schedule_);
    follow_rules();
    if (!pool_.is_perfect(bound_)) {
      draw_orders(problem_, {.draws = budget_.draws, .bound = bound_}, pool_);
    }
    for (const ListedOrder& order : pool_.orders()) judge(order.lists);
    search();
    return std::move(best_);
  }

 private:
  // The lowered lists are what the bound counts; every order has the same work.
  [[nodiscard]] Ticks bound_in_ticks() {
    LowerOptions lowering = options_.lowering;
    lowering.costs = &costs_;
    BoundOptions options;
    if (!options_.cap.bytes) options.cap = options_.cap.activations;
    const double bound =
        lower_bound(lower(schedule_, lowering), costs_, options);
    // Each cost is rounded to a tick.
    return std::llround(bound * problem_.ticks_per_time) + problem_.actions;
  }

  void follow_rules() {
    ListScheduler scheduler(problem_);
    ListPolicy policy;
    ListedOrder order;
    const auto follow = [&](const auto& rules) {
      for (const auto& rule : rules) {
        if (pool_.is_perfect(bound_)) return;
        set_keys(problem_, rule, policy);
        scheduler.run(policy, order);
        pool_.offer(order);
      }
    };
    for (const Ticks wait : {Ticks{0}, longest_hop()}) {
      policy.wait = wait;
      follow(kind_rules());
      follow(time_rules());
      if (longest_hop() == 0) break;
    }
  }

  [[nodiscard]] Ticks longest_hop() const {
    Ticks longest = 0;
    for (const Slot& slot : problem_.slots) {
      longest = std::max(longest, slot.from_next);
    }
    return longest;
  }

  // From the best list found, and from the best of the named schemes.
  void search() {
    const Goal goal = end_by(problem_, bound_);
    const std::optional<CodeLists> named = best_named(goal);
    if (pool_.best().span <= bound_) return;
    // A long search gets stuck; a short one gets nowhere.
    constexpr std::int64_t kEnough = 50000;
    const auto turns = std::max<std::int64_t>(1, budget_.moves / kEnough);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      search_from(goal, pool_.best().lists, budget_.moves / turns, turn);
    }
    if (named) search_from(goal, *named, budget_.moves / 2, turns);
  }

  // Judges what the named schemes do here within the cap, and gives the best
  // of it as lists.
  [[nodiscard]] std::optional<CodeLists> best_named(const Goal& goal) {
    std::optional<CodeLists> best;
    Ticks span = kNever;
    Replay replay(problem_, goal);
    for (Schedule& order : named_orders(schedule_)) {
      if (!is_within_cap(order)) continue;
      order.scheme = schedule_.scheme;
      judge(order);
      // In a folded problem it is mirrored, and that may be another order, or
      // none that ends.
      CodeLists lists = to_codes(problem_, order);
      if (keeps_room(problem_, lists) && replay.run(lists, span - 1)) {
        span = replay.span();
        best = std::move(lists);
      }
    }
    return best;
  }

  [[nodiscard]] bool is_within_cap(const Schedule& order) const {
    for (const ActionList& list : order.actions) {
      double held = 0;
      for (const Action& action : list) {
        const double size = options_.cap.bytes
                                ? costs_.stages[action.stage].activation_bytes
                                : 1.0 / order.chunks();
        if (action.op == Op::kF) held += size;
        if (action.op == Op::kW) held -= size;
        const double room =
            options_.cap.bytes.value_or(options_.cap.activations);
        if (held > room + 1e-6 * size) return false;
      }
    }
    return true;
  }

  void search_from(const Goal& goal, CodeLists lists, std::int64_t moves,
                   std::int64_t seed) {
    if (makespan_ * problem_.ticks_per_time <= double(bound_)) return;
    search_lists(problem_, goal,
                 {.moves = moves,
                  .seed = static_cast<std::uint64_t>(seed),
                  .bound = bound_},
                 lists);
    judge(lists);
  }

  void judge(const CodeLists& lists) {
    Schedule order = schedule_;
    order.actions = to_actions(problem_, schedule_.placement, lists);
    judge(order);
  }

  // Over two steps: the first is what users compare, the second shows how well
  // steps follow one another.
  void judge(const Schedule& order) {
    const Simulation played =
        simulate(lower(order, options_.lowering), costs_, {.steps = 2});
    const double makespan = played.makespan - played.period;
    const bool is_better = best_.actions.empty() ||
                           makespan < makespan_ * (1 - kDust) ||
                           (makespan < makespan_ * (1 + kDust) &&
                            played.period < period_ * (1 - kDust));
    if (!is_better) return;
    best_ = order;
    makespan_ = makespan;
    period_ = played.period;
  }

  static constexpr double kDust = 1e-9;  // rounding

  const Schedule& schedule_;
  const Costs& costs_;
  PlanOptions options_;
  Problem problem_;
  Budget budget_;
  Ticks bound_;
  Pool pool_;
  Schedule best_;
  double makespan_ = 0;
  double period_ = 0;
};

}  // namespace
}  // namespace planned

bool is_planned(const Schedule& schedule) {
  const Scheme* scheme = find_scheme(schedule.scheme);
  return scheme != nullptr && scheme->any_cap;
}

Schedule plan_order(const Schedule& schedule, const Costs& costs,
                    const PlanOptions& options) {
  return planned::OrderPlanner(schedule, costs, options).run();
}

}  // namespace chimera
