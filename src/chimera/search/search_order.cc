#include "chimera/search/search_order.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "chimera/base/text.h"
#include "chimera/schedule/held.h"
#include "chimera/schedule/list_scheduling/rules.h"
#include "chimera/schedule/scheme.h"
#include "chimera/search/draws.h"
#include "chimera/search/judge.h"
#include "chimera/search/justify_search.h"
#include "chimera/search/list_search.h"
#include "chimera/search/named_orders.h"
#include "chimera/search/quick_order.h"
#include "chimera/simulate/bound.h"
#include "chimera/simulate/link_bound.h"
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
  std::int64_t turn = 0;    // passes at an effort of 1

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
    turn = static_cast<std::int64_t>(std::min(played / actions, 20 * actions));
    passes = turn < 1000 ? 0 : times(played, 20 * actions);
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
                         .recompute = bool{options.lowering.recompute},
                         .fold = variant.fold,
                         .forwards_are_free = variant.forwards_are_free},
        problem_(make_problem(schedule, costs, problem_options_)),
        budget_(problem_, schedule.depth, options.effort),
        pool_(aim()),
        judge_(costs, options.lowering,
               {.aim = aim(), .jitter = options.jitter}) {
    find_bounds();
  }

  Schedule run() {
    // From cheap to expensive. Each search starts from what those before it
    // have found, and none goes on once the bound is met.
    judge_.see(schedule_);
    follow_rules();
    if (!pool_.is_perfect(bound_)) {
      draw_orders(problem_,
                  {.draws = budget_.draws,
                   .aim = aim(),
                   .bound = bound_,
                   .on_share = [&](double share) { tell(kDraws * share); }},
                  pool_);
    }
    const size_t judged =
        std::min<size_t>(budget_.judged, pool_.orders().size());
    for (size_t i = 0; i < judged; ++i) show(pool_.orders()[i].lists);
    if (links_are_busy_ && problem_.actions <= kFew) judge_rules();
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
  // At most this many actions: all orders of rules are judged.
  static constexpr int kFew = 300;
  // Shares of the time that draws and list search take, roughly; justification
  // takes the rest.
  static constexpr double kDraws = 0.15;
  static constexpr double kMoves = 0.25;

  void tell(double share) const {
    if (options_.on_progress) options_.on_progress({share, judge_.time()});
  }

  [[nodiscard]] Aim aim() const {
    return options_.steady ? Aim::kSteady : Aim::kStep;
  }

  [[nodiscard]] Goal goal_of(const Problem& problem, Ticks bound) const {
    return options_.steady ? end_in_windows(problem) : end_by(problem, bound);
  }

  // Computes the bounds. They depend only on the set of actions, which is the
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
    judged_bound_ = in_ticks(lower_bound(lowered, costs_, options));
    options.links = false;  // the problem knows nothing of them
    bound_ = in_ticks(lower_bound(lowered, costs_, options));
    links_are_busy_ = link_bound(lowered, costs_) > 0;
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

  // Judges the orders of all rules, under smaller caps too. Messages that
  // occupy a link may wait for it, which the problem does not know; an order
  // that runs fewer micro-batches ahead may then be faster.
  void judge_rules() {
    Problem tight = problem_;
    ListPolicy policy{.wait = problem_.longest_hop()};
    ListedOrder order;
    std::set<CodeLists> seen;
    const auto follow = [&](ListScheduler& scheduler, const auto& rules) {
      for (const auto& rule : rules) {
        if (is_found()) return;
        set_keys(tight, rule, policy);
        scheduler.run(policy, order);
        if (seen.insert(order.lists).second) show(order.lists);
      }
    };
    std::int64_t one = kNever;  // room of the smallest activation
    std::int64_t all = 0;       // of all activations of a step
    for (const Slot& slot : problem_.slots) {
      one = std::min(one, std::max<std::int64_t>(1, slot.size));
      all += slot.size * slot.micros;
    }
    tight.room = std::min(tight.room, all);
    constexpr int kMostCaps = 50;
    one *= std::max<std::int64_t>(1, tight.room / one / kMostCaps);
    for (; tight.has_room(); tight.room -= one) {
      ListScheduler scheduler(tight);
      follow(scheduler, kind_rules());
      follow(scheduler, time_rules());
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
      tell(kDraws +
           kMoves * static_cast<double>(turn) / static_cast<double>(turns));
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
             {.passes = budget_.passes,
             .turn = budget_.turn,
             .enough = enough(),
             .on_share = [&](double share) {
               tell(kDraws + kMoves + (1 - kDraws - kMoves) * share);
             }})) {
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
    const std::int64_t turn = std::min(budget_.turn, budget_.passes) / 6;
    if (!is_alike || turn == 0) return {};
    const Goal goal = goal_of(small, small.simple_bound());
    const std::vector<Played> found = search_by_justification(
        small, goal, {}, {},
        {.passes = turn, .turn = turn, .enough = enough()});
    constexpr size_t kMost = 3;
    std::vector<Timetable> wishes;
    for (size_t i = 0; i < std::min(kMost, found.size()); ++i) {
      wishes.push_back(stretched(small, found[i].times, problem_));
    }
    return wishes;
  }

  // Judges the named schemes that stay within the cap and returns the best of
  // them.
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
    const Op from = problem_.holds_from == kF ? Op::kF : Op::kI;
    for (const ActionList& list : order.actions) {
      std::int64_t held = 0;
      for (const Action& action : list) {
        const Slot& slot = problem_.slots[action.stage];  // of any pipe
        if (action.op == from) held += slot.size;
        if (held > problem_.room) return false;
        if (action.op == Op::kI) held -= slot.size - slot.kept;
        if (action.op == Op::kW) held -= slot.kept;
      }
    }
    return true;
  }

  // Lower bound of every judged time.
  [[nodiscard]] Ticks least() const {
    return options_.steady ? period_bound_ : judged_bound_;
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
  Ticks bound_ = 0;         // lower bound of the makespan of the problem
  Ticks judged_bound_ = 0;  // the same for the judge's simulations
  Ticks period_bound_ = 0;
  bool links_are_busy_ = false;  // messages occupy links
  Pool pool_;
  Judge judge_;
  std::vector<CodeLists> seeds_;  // for justification
};

}  // namespace
}  // namespace ordering

namespace {

std::string shown_cap(double bytes) {
  return "a cap of " + number(bytes / 1e6) + " MB";
}

}  // namespace

bool depends_on_costs(const Schedule& schedule) {
  const Scheme* scheme = find_scheme(schedule.scheme);
  return scheme != nullptr && scheme->any_cap;
}

Schedule search_order(const Schedule& schedule, const Costs& costs,
                      const SearchOptions& options) {
  using ordering::OrderSearch;
  OrderSearch search(schedule, costs, options, {});
  Schedule order = search.run();
  // A folded search knows only orders whose pipes mirror each other. If that
  // leaves it far above the bound, the pipes are ordered one by one, starting
  // from its result.
  if (search.might_unfold()) {
    order = OrderSearch(order, costs, options, {.fold = false}).run();
  }
  if (search.is_found() || !options.lowering.recompute.is_all()) return order;
  // Allow more micro-batches in flight, since recomputation makes them cheap.
  return OrderSearch(order, costs, options, {.forwards_are_free = true}).run();
}

Diagnostics check_bytes_known(const Schedule& layout, const Costs& costs,
                              double cap) {
  const bool is_known = std::any_of(
      costs.stages.begin(), costs.stages.end(),
      [](const StageCosts& stage) { return stage.activation_bytes > 0; });
  if (is_known) return {};
  return {{.code = "E213",
           .found = shown_cap(cap),
           .needed = "counts bytes, which an emulated model does not have",
           .hint = "give the cap in activations, for example --cap " +
                   std::to_string(layout.depth)}};
}

Diagnostics check_cap_bytes(const Schedule& layout, const Costs& costs,
                            double cap) {
  Diagnostics errors = check_bytes_known(layout, costs, cap);
  if (!errors.empty() || !depends_on_costs(layout)) return errors;
  const std::vector<double> bytes = held_bytes(costs);
  double most = 0;
  for (int worker = 0; worker < layout.workers(); ++worker) {
    double needed = 0;
    for (int pipe = 0; pipe < layout.pipes(); ++pipe) {
      for (int stage = 0; stage < layout.stages(); ++stage) {
        if (layout.placement.worker(pipe, stage) != worker) continue;
        needed += std::ceil(bytes[stage]);
      }
    }
    most = std::max(most, needed);
  }
  if (most <= cap) return {};
  const std::string least = number(std::ceil(most / 1e6)) + "MB";
  return {{.code = "E213",
           .found = shown_cap(cap),
           .needed = "must leave a worker room for one activation of each of "
                     "its stages, at least " +
                     least,
           .hint = "use --cap " + least}};
}

Schedule make_order(const OrderRequest& request, const Schedule& start,
                    const Costs& costs) {
  if (!depends_on_costs(start)) return start;
  const ordering::MemoryCap cap{.activations = *resolve(request.spec)->cap,
                                .bytes = request.cap_bytes};
  // `start` counts activations, and may hold too many bytes.
  const Schedule first =
      cap.bytes ? quick_order(start, costs,
                              {.cap = cap,
                               .recompute = bool{request.lowering.recompute}})
                : start;
  return search_order(first, costs,
                      {.cap = cap,
                       .steady = request.steady,
                       .lowering = request.lowering,
                       .effort = request.effort,
                       .jitter = request.jitter,
                       .on_progress = request.on_progress});
}

}  // namespace chimera
