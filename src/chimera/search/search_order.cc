#include "chimera/search/search_order.h"

#include <algorithm>
#include <cmath>

#include "chimera/schedule/list_scheduling/rules.h"
#include "chimera/schedule/scheme.h"
#include "chimera/search/draws.h"
#include "chimera/search/judge.h"
#include "chimera/search/justify_search.h"
#include "chimera/search/list_search.h"
#include "chimera/search/named_orders.h"
#include "chimera/simulate/bound.h"
#include "chimera/simulate/period_bound.h"

namespace chimera {
namespace ordering {
namespace {

// Number of orders to try, fewer if an order has more actions: about a second
// in all for D = 16, N = 64, and a few seconds for the largest layouts.
struct Budget {
  int rules = 0;
  int draws = 0;
  int judged = 0;
  std::int64_t moves = 0;
  std::int64_t passes = 0;  // of justification

  Budget(const Problem& problem, int depth, double effort) {
    const double actions = std::max(1, problem.actions);
    const auto times = [&](double all, double most) {
      return static_cast<int>(effort * std::min(all / actions, most));
    };
    rules = std::max(1, times(2e7, 1000));
    draws = times(4e6, 8000);
    judged = std::max(1, times(2e5, 12));
    moves = times(3e7, 200000);
    // Deeper pipelines need more passes. Fewer than a thousand are useless.
    const double played = std::min(7e5 * std::pow(depth, 1.5), 1.1e8);
    passes = times(played, 20 * actions);
    if (static_cast<double>(passes) < 1000 * effort) passes = 0;
  }
};

// The variant of the problem that is searched.
struct Variant {
  bool fold = true;
  bool forwards_are_free = false;
};

class OrderSearch {
 public:
  OrderSearch(const Schedule& schedule, const Costs& costs,
              const SearchOptions& options, const Variant& variant)
      : schedule_(schedule),
        costs_(costs),
        options_(options),
        problem_options_{.cap = options.cap,
                         .recompute = options.lowering.recompute,
                         .fold = variant.fold,
                         .forwards_are_free = variant.forwards_are_free},
        problem_(make_problem(schedule, costs, problem_options_)),
        budget_(problem_, schedule.depth, options.effort),
        pool_(aim()),
        judge_(costs, options.lowering, aim()) {
    find_bounds();
  }

  Schedule run() {
    judge_.see(schedule_);
    follow_rules();
    if (!pool_.is_perfect(bound_)) {
      draw_orders(problem_,
                  {.draws = budget_.draws, .aim = aim(), .bound = bound_},
                  pool_);
    }
    const size_t judged =
        std::min<size_t>(budget_.judged, pool_.orders().size());
    for (size_t i = 0; i < judged; ++i) show(pool_.orders()[i].lists);
    search();
    return judge_.best();
  }

  // Whether pipes that do not mirror each other could give a better order.
  [[nodiscard]] bool might_unfold() const {
    constexpr double kFar = 1.05;
    constexpr int kSmall = 1000;  // actions
    return problem_.folded && problem_.actions <= kSmall &&
           judge_.time() * problem_.ticks_per_time >
               kFar * static_cast<double>(least());
  }
  // Whether the best order found is optimal.
  [[nodiscard]] bool is_found() const {
    return judge_.time() * problem_.ticks_per_time <=
           static_cast<double>(least());
  }

 private:
  [[nodiscard]] Aim aim() const {
    return options_.steady ? Aim::kSteady : Aim::kStep;
  }

  [[nodiscard]] Goal goal_of(const Problem& problem, Ticks bound) const {
    return options_.steady ? end_in_windows(problem) : end_by(problem, bound);
  }

  // Computes both bounds. They depend only on the set of actions, which is the
  // same for every order.
  void find_bounds() {
    LowerOptions lowering = options_.lowering;
    lowering.costs = &costs_;
    const Schedule lowered = lower(schedule_, lowering);
    BoundOptions options;
    if (!options_.cap.bytes) options.cap = options_.cap.activations;
    // Every action may be rounded by up to one tick.
    const auto in_ticks = [this](double time) {
      return std::llround(time * problem_.ticks_per_time) + problem_.actions;
    };
    bound_ = in_ticks(lower_bound(lowered, costs_, options));
    period_bound_ = in_ticks(period_bound(lowered, costs_, options));
  }

  void follow_rules() {
    ListScheduler scheduler(problem_);
    ListPolicy policy;
    ListedOrder order;
    int left = budget_.rules;
    const auto follow = [&](const auto& rules) {
      for (const auto& rule : rules) {
        if (pool_.is_perfect(bound_) || left-- == 0) return;
        set_keys(problem_, rule, policy);
        scheduler.run(policy, order);
        pool_.offer(order);
      }
    };
    const Ticks hop = problem_.longest_hop();
    for (const Ticks wait : {Ticks{0}, hop}) {
      policy.wait = wait;
      follow(kind_rules());
      follow(time_rules());
      if (hop == 0 || left < 0) break;
    }
  }

  // Starts from the best order found, and from the best named scheme.
  void search() {
    const Goal goal = goal_of(problem_, bound_);
    const std::optional<CodeLists> named = best_named(goal);
    // A long search gets stuck, a short one does not get far.
    constexpr std::int64_t kEnough = 50000;
    const auto turns = std::max<std::int64_t>(1, budget_.moves / kEnough);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      search_from(goal, pool_.best().lists, budget_.moves / turns, turn);
    }
    if (named) {
      seeds_.push_back(*named);
      search_from(goal, *named, budget_.moves / 2, turns);
    }
    justify(goal);
  }

  // Forward and backward justification, from all that was found so far.
  void justify(const Goal& goal) {
    if (is_found() || problem_.holds_from != kF || budget_.passes == 0) return;
    for (const Played& played : search_by_justification(
             problem_, goal, seeds_, from_fewer_micros(),
             {.passes = budget_.passes, .enough = enough()})) {
      show(played.lists);
    }
  }

  // Times of an order for 2D micro-batches, stretched. With fewer
  // micro-batches, the fill and the drain of a step are found sooner.
  [[nodiscard]] std::vector<Timetable> from_fewer_micros() const {
    Schedule few = schedule_;
    few.micros = 2 * schedule_.depth;
    if (few.micros * 3 > schedule_.micros * 2) return {};
    const Problem small = make_problem(few, costs_, problem_options_);
    const bool is_alike = small.folded == problem_.folded &&
                          small.ticks_per_time == problem_.ticks_per_time;
    if (!is_alike) return {};
    const Goal goal = goal_of(small, small.simple_bound());
    const std::vector<Played> found = search_by_justification(
        small, goal, {}, {},
        {.passes = budget_.passes / 6, .enough = enough()});
    constexpr size_t kMost = 3;
    std::vector<Timetable> wishes;
    for (size_t i = 0; i < std::min(kMost, found.size()); ++i) {
      wishes.push_back(stretched(small, found[i].times, problem_));
    }
    return wishes;
  }

  // Judges the named schemes that keep the cap and returns the best of them.
  [[nodiscard]] std::optional<CodeLists> best_named(const Goal& goal) {
    std::optional<CodeLists> best;
    Ticks span = kNever;
    Replay replay(problem_, goal);
    for (Schedule& order : named_orders(schedule_)) {
      if (!is_within_cap(order)) continue;
      order.scheme = schedule_.scheme;
      judge_.see(order);
      // A folded problem keeps only one pipe of the order. With its mirror
      // image it may be another order, or deadlock.
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
        const Op from = problem_.holds_from == kF ? Op::kF : Op::kI;
        if (action.op == from) held += size;
        if (action.op == Op::kW) held -= size;
        const double room =
            options_.cap.bytes.value_or(options_.cap.activations);
        if (held > room + 1e-6 * size) return false;
      }
    }
    return true;
  }

  // Lower bound of every judged time.
  [[nodiscard]] Ticks least() const {
    return options_.steady ? period_bound_ : bound_;
  }

  // An order is optimal once its excess over the windows is at most this.
  [[nodiscard]] Ticks enough() const {
    return options_.steady ? period_bound_ - problem_.busiest() : 0;
  }

  void search_from(const Goal& goal, CodeLists lists, std::int64_t moves,
                   std::int64_t seed) {
    if (is_found()) return;
    search_lists(problem_, goal,
                 {.moves = moves,
                  .seed = static_cast<std::uint64_t>(seed),
                  .bound = goal.latest},
                 lists);
    show(lists);
    seeds_.push_back(std::move(lists));
  }

  void show(const CodeLists& lists) {
    Schedule order = schedule_;
    order.actions = to_actions(problem_, schedule_.placement, lists);
    judge_.see(order);
  }

  const Schedule& schedule_;
  const Costs& costs_;
  SearchOptions options_;
  ProblemOptions problem_options_;
  Problem problem_;
  Budget budget_;
  Ticks bound_ = 0;  // lower bound of the makespan
  Ticks period_bound_ = 0;
  Pool pool_;
  Judge judge_;
  std::vector<CodeLists> seeds_;  // for justification
};

}  // namespace
}  // namespace ordering

bool depends_on_costs(const Schedule& schedule) {
  const Scheme* scheme = find_scheme(schedule.scheme);
  return scheme != nullptr && scheme->any_cap;
}

Schedule search_order(const Schedule& schedule, const Costs& costs,
                      const SearchOptions& options) {
  using ordering::OrderSearch;
  OrderSearch search(schedule, costs, options, {});
  Schedule order = search.run();
  if (search.might_unfold()) {
    order = OrderSearch(order, costs, options, {.fold = false}).run();
  }
  if (search.is_found() || !options.lowering.recompute) return order;
  // Allow more micro-batches in flight, since recomputation makes them cheap.
  return OrderSearch(order, costs, options, {.forwards_are_free = true}).run();
}

Schedule make_order(const OrderRequest& request, const Schedule& start,
                    const Costs& costs) {
  if (!depends_on_costs(start)) return start;
  return search_order(start, costs,
                      {.cap = {.activations = *resolve(request.spec)->cap},
                       .steady = request.steady,
                       .lowering = request.lowering,
                       .effort = request.effort});
}

}  // namespace chimera
