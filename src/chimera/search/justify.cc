#include "chimera/search/justify.h"

#include <algorithm>
#include <cmath>

#include "chimera/base/check.h"

namespace chimera::ordering {
namespace {

// Weight of the workers' mean lateness relative to that of the latest worker.
constexpr double kMeanCounts = 0.3;

double mean_forward(const Problem& problem) {
  double all = 0;
  for (const Slot& slot : problem.slots) all += double(slot.cost[kF]);
  return all / double(problem.slots.size());
}

}  // namespace

Justifier::Justifier(const Problem& problem, const Goal& goal, Ticks enough)
    : problem_(problem),
      goal_(goal),
      enough_(enough),
      forward_(mean_forward(problem)),
      directed_{make_directed(problem, goal, Direction::kForwards),
                make_directed(problem, goal, Direction::kBackwards)},
      passes_{TimedPass(directed_[0]), TimedPass(directed_[1])} {}

Played Justifier::run(const Played& start, const RunOptions& options,
                      Random& random) {
  now_ = start;
  Played best = start;
  // The value to beat in each direction. Backward passes start from the ends
  // of all windows, so that all workers may be as late as the latest.
  const double latest = double(std::max<Ticks>(0, start.excess));
  std::array<double, 2> to_beat = {
      start.value, std::max(start.value, (1 + kMeanCounts) * latest)};
  for (int i = 0; i < options.passes && best.excess > enough_; ++i) {
    const int side = i % 2;
    aim(side, i < 2 ? 0 : options.noise, random);
    TimedPass& pass = passes_[side];
    PassRule rule = i < options.listed ? list_rule(random)
                    : i < 2            ? PassRule{}
                                       : any_rule(random);
    const double heat =
        options.temperature * forward_ * (1 - double(i) / options.passes);
    // Metropolis' rule, but its random number is drawn before the pass: one
    // that would not be accepted can then stop early.
    const double worst =
        to_beat[side] - heat * std::log(1 - random.between(0, 1));
    if (worst < double(kNever)) rule.most_excess = Ticks(worst);
    ++passes_made_;
    if (!pass.run(targets_, rule)) continue;
    const Mark got = mark([&](int worker) { return pass.excess(worker); });
    if (got.value > worst) continue;
    to_beat[side] = got.value;
    now_.excess = got.excess;
    now_.value = got.value;
    from_direction(directed_[side], goal_.latest + got.excess, pass.starts(),
                   now_.times);
    if (!now_.is_better_than(best)) continue;
    best = now_;
    best.lists = pass.lists();
  }
  return best;
}

Played Justifier::replayed(const CodeLists& lists) const {
  Replay replay(problem_, goal_);
  CHIMERA_CHECK(replay.run(lists, kNever), "a seed must play to its end");
  const Mark got = mark([&](int worker) { return replay.excess(worker); });
  Played played{.lists = lists, .excess = got.excess, .value = got.value};
  const int codes = static_cast<int>(problem_.slots.size()) * kSlotOps;
  played.times.resize(problem_.at(codes, 0));
  std::vector<int> count(codes, 0);
  for (int worker = 0; worker < problem_.workers; ++worker) {
    int position = 0;
    for (const int code : lists[worker]) {
      played.times[problem_.at(code, count[code]++)] =
          replay.start(worker, position++);
    }
  }
  return played;
}

template <typename ExcessOf>
Justifier::Mark Justifier::mark(const ExcessOf& excess_of) const {
  Ticks most = excess_of(0);
  double late = 0;
  for (int worker = 0; worker < problem_.workers; ++worker) {
    const Ticks excess = excess_of(worker);
    most = std::max(most, excess);
    late += double(std::max<Ticks>(0, excess));
  }
  return {most, double(most) + kMeanCounts * late / problem_.workers};
}

// Sets the targets of the next pass.
void Justifier::aim(int side, double noise, Random& random) {
  const Directed& directed = directed_[side];
  to_direction(directed, goal_.latest + now_.excess, now_.times, targets_);
  // One pass in six has no noise.
  if (noise > 0 && !random.one_in(6)) shake(directed, noise, random);
}

// Adds noise to all targets, or more noise to those within a short interval, of
// all workers or of one.
void Justifier::shake(const Directed& directed, double noise, Random& random) {
  const double share = random.between(0, 1);
  double deviation = noise * share * share * forward_;
  const bool is_everywhere = random.one_in(5);
  int first = 0;
  int last = static_cast<int>(directed.kinds.size());
  Ticks from = -kNever;
  Ticks to = kNever;
  if (!is_everywhere) {
    deviation *= 3;
    if (random.one_in(2)) {
      const int worker = random.below(directed.workers);
      first = directed.first_kind[worker];
      last = directed.first_kind[worker + 1];
    }
    from = Ticks(random.between(-0.05, 1.05) * double(goal_.latest));
    to = from + Ticks(random.between(0.01, 0.11) * double(problem_.busiest()));
  }
  const std::size_t end = directed.at(last, 0);
  for (std::size_t i = directed.at(first, 0); i < end; ++i) {
    if (targets_[i] < from || targets_[i] >= to) continue;
    targets_[i] += Ticks(random.normal(deviation));
  }
}

PassRule Justifier::list_rule(Random& random) const {
  const double longest = random.one_in(2) ? 1 : 1.5;
  return {.keeps_targets = false,
          .wait = Ticks(random.between(0, longest) * forward_),
          .room_is_urgent = !random.one_in(4)};
}

PassRule Justifier::any_rule(Random& random) const {
  constexpr double kTolerances[] = {0.1, 0.5, 2};
  if (random.one_in(3)) return list_rule(random);
  if (random.one_in(2)) return {};
  const double most = kTolerances[random.below(3)];
  return {.tolerance = Ticks(random.between(0, most) * forward_)};
}

}  // namespace chimera::ordering
