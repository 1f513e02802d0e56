#include "chimera/search/directed.h"

#include <algorithm>

#include "chimera/base/check.h"

namespace chimera::ordering {
namespace {

class Maker {
 public:
  Maker(const Problem& problem, const Goal& goal, Direction direction)
      : problem_(problem), goal_(goal), kind_of_(problem.slots.size()) {
    made_.direction = direction;
  }

  Directed make() {
    made_.workers = problem_.workers;
    made_.most_micros = problem_.most_micros;
    made_.actions = problem_.actions;
    made_.room = problem_.room;
    made_.work = problem_.work;
    for (int worker = 0; worker < problem_.workers; ++worker) {
      made_.first_kind.push_back(static_cast<int>(made_.kinds.size()));
      for (const int slot : problem_.slots_of[worker]) add(slot);
      add_window(worker);
    }
    made_.first_kind.push_back(static_cast<int>(made_.kinds.size()));
    for (Kind& kind : made_.kinds) link(kind);
    return std::move(made_);
  }

 private:
  [[nodiscard]] bool is_forwards() const {
    return made_.direction == Direction::kForwards;
  }

  void add(int slot) {
    const Slot& it = problem_.slots[slot];
    kind_of_[slot] = static_cast<int>(made_.kinds.size());
    for (int op = 0; op < kSlotOps; ++op) {
      const int in_problem = is_forwards() ? op : kSlotOps - 1 - op;
      Kind kind{.code = code_of(slot, in_problem),
                .worker = it.worker,
                .slot = slot,
                .op = op,
                .micros = it.micros,
                .cost = it.cost[in_problem],
                .size = it.size,
                .kept = it.kept,
                .filler = kind_of_[slot] + (is_forwards() ? 0 : 1)};
      set_room(kind);
      made_.kinds.push_back(kind);
    }
  }

  void set_room(Kind& kind) {
    // In forward time F adds a whole activation, I reduces it to what W needs,
    // and W frees that.
    constexpr int kWhole[] = {1, -1, 0};
    constexpr int kKept[] = {0, 1, -1};
    const int sign = is_forwards() ? 1 : -1;
    kind.adds_whole = sign * kWhole[op_of(kind.code)];
    kind.adds_kept = sign * kKept[op_of(kind.code)];
    const std::int64_t change =
        kind.adds_whole * kind.size + kind.adds_kept * kind.kept;
    kind.takes = std::max<std::int64_t>(0, change);
    kind.frees = std::max<std::int64_t>(0, -change);
  }

  void add_window(int worker) {
    const Ticks head = problem_.head[worker];
    Ticks tail = kNever;
    for (const int slot : problem_.slots_of[worker]) {
      tail = std::min(tail, problem_.slots[slot].tail);
    }
    const Ticks end = goal_.target[worker] - (tail == kNever ? 0 : tail);
    made_.release.push_back(is_forwards() ? head : goal_.latest - end);
    made_.deadline.push_back(is_forwards() ? end : goal_.latest - head);
  }

  // F and I send messages to the neighbouring stages.
  void link(Kind& kind) {
    const Slot& slot = problem_.slots[kind.slot];
    const int op = op_of(kind.code);
    if (op == kW) return;
    const bool goes_up = (op == kF) == is_forwards();
    const int to = goes_up ? slot.next : slot.previous;
    kind.is_fed = (goes_up ? slot.previous : slot.next) != kNone;
    if (to == kNone) return;
    kind.feeds = kind_of_[to] + kind.op;
    kind.lag = goes_up ? slot.from_next : slot.from_previous;
    // The first part of I, a recomputation, needs no gradient.
    if (op == kI) {
      kind.lag -= is_forwards() ? problem_.slots[to].ahead : slot.ahead;
    }
  }

  const Problem& problem_;
  const Goal& goal_;
  std::vector<int> kind_of_;  // [slot]: index of its first kind
  Directed made_;
};

// Calls visit(kind, number, index here, index in the problem) for each action.
template <typename Visit>
void for_each_action(const Directed& directed, const Visit& visit) {
  const bool is_forwards = directed.direction == Direction::kForwards;
  for (int kind = 0; kind < static_cast<int>(directed.kinds.size()); ++kind) {
    const Kind& it = directed.kinds[kind];
    const std::size_t here = directed.at(kind, 0);
    const std::size_t there =
        static_cast<std::size_t>(it.code) * directed.most_micros;
    for (int number = 0; number < it.micros; ++number) {
      visit(it, here + number,
            there + (is_forwards ? number : it.micros - 1 - number));
    }
  }
}

}  // namespace

Directed make_directed(const Problem& problem, const Goal& goal,
                       Direction direction) {
  CHIMERA_CHECK(problem.holds_from == kF, "activations count from F");
  return Maker(problem, goal, direction).make();
}

void to_direction(const Directed& directed, Ticks end, const Timetable& from,
                  std::vector<Ticks>& to) {
  to.resize(from.size());
  const bool is_forwards = directed.direction == Direction::kForwards;
  for_each_action(
      directed, [&](const Kind& kind, std::size_t here, std::size_t there) {
        to[here] = is_forwards ? from[there] : end - from[there] - kind.cost;
      });
}

void from_direction(const Directed& directed, Ticks end,
                    const std::vector<Ticks>& from, Timetable& to) {
  to.resize(from.size());
  const bool is_forwards = directed.direction == Direction::kForwards;
  for_each_action(
      directed, [&](const Kind& kind, std::size_t here, std::size_t there) {
        to[there] = is_forwards ? from[here] : end - from[here] - kind.cost;
      });
}

}  // namespace chimera::ordering
