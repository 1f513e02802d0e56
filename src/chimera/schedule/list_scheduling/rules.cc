#include "chimera/schedule/list_scheduling/rules.h"

#include <algorithm>

namespace chimera::ordering {
namespace {

// Sets the key of every action to key(slot, op, number).
template <typename Key>
void fill_keys(const Problem& problem, ListPolicy& policy, const Key& key) {
  const int slots = static_cast<int>(problem.slots.size());
  policy.keys.resize(problem.at(slots * kSlotOps, 0));
  for (int slot = 0; slot < slots; ++slot) {
    for (int op = 0; op < kSlotOps; ++op) {
      for (int number = 0; number < problem.slots[slot].micros; ++number) {
        policy.keys[problem.at(code_of(slot, op), number)] =
            key(slot, op, number);
      }
    }
  }
}

// The rank of an action among those of its kind, below 2^25, as stages x
// micro-batches are at most 2^23.
double rank(const Problem& problem, RankBy by, const Slot& slot, int number) {
  const double micro = double(number) * problem.pipes + slot.pipe;
  const double all_micros = double(problem.most_micros) * problem.pipes;
  const double stage = slot.stage;
  switch (by) {
    case RankBy::kMicro:
      return micro * problem.stages - stage;
    case RankBy::kNumber:
      return double(number) * problem.stages - stage;
    case RankBy::kDeepest:
      return -stage * all_micros + micro;
    case RankBy::kShallowest:
      return stage * all_micros + micro;
    case RankBy::kDiagonal:
      return 4 * micro * problem.chunks + stage;
  }
  return 0;
}

// When the first micro-batch reaches each slot if it never waits.
struct Arrivals {
  std::vector<double> forward;  // [slot]
  std::vector<double> input_grad;
};

Arrivals arrivals_of(const Problem& problem) {
  const int slots = static_cast<int>(problem.slots.size());
  Arrivals at{std::vector<double>(slots), std::vector<double>(slots)};
  for (int slot = 0; slot < slots; ++slot) {
    const Slot& it = problem.slots[slot];
    if (it.previous == kNone) continue;
    at.forward[slot] =
        at.forward[it.previous] +
        double(problem.slots[it.previous].cost[kF] + it.from_previous);
  }
  for (int slot = slots - 1; slot >= 0; --slot) {
    const Slot& it = problem.slots[slot];
    at.input_grad[slot] =
        it.next == kNone
            ? at.forward[slot] + double(it.cost[kF])
            : at.input_grad[it.next] +
                  double(problem.slots[it.next].cost[kI] + it.from_next);
  }
  return at;
}

// The time of one micro-batch's forwards through all stages.
double forward_pass(const Problem& problem) {
  Ticks pass = 0;
  for (const Slot& slot : problem.slots) {
    if (slot.pipe == 0) pass += slot.cost[kF];
  }
  return double(pass);
}

}  // namespace

void set_keys(const Problem& problem, const KindRule& rule,
              ListPolicy& policy) {
  constexpr double kKind = 1 << 27;  // distance between kinds: above any rank
  policy.room_is_urgent = rule.room_is_urgent;
  fill_keys(problem, policy, [&](int slot, int op, int number) {
    const Slot& it = problem.slots[slot];
    if (op == kW) {
      return 2 * kKind + rank(problem, RankBy::kMicro, it, number);
    }
    const RankBy by = op == kF ? rule.forward : rule.input_grad;
    const bool is_first = (op == kF) == rule.forward_first;
    return (is_first ? 0 : kKind) + rank(problem, by, it, number);
  });
}

void set_keys(const Problem& problem, const TimeRule& rule,
              ListPolicy& policy) {
  policy.room_is_urgent = rule.room_is_urgent;
  const Arrivals at = arrivals_of(problem);
  const double period = double(problem.busiest()) / problem.most_micros;
  const double pass = forward_pass(problem);
  // A key above every due time.
  const double last = double(kNever);
  fill_keys(problem, policy, [&](int slot, int op, int number) {
    const Slot& it = problem.slots[slot];
    const double entry =
        rule.pace * period * (number + double(it.pipe) / problem.pipes);
    if (op == kF) return entry + at.forward[slot];
    const double input = entry + at.input_grad[slot] + rule.input_delay * pass;
    if (op == kI) return input;
    return rule.weight_last ? last + input : input + rule.weight_delay * pass;
  });
}

std::vector<KindRule> kind_rules() {
  std::vector<KindRule> rules;
  for (const RankBy forward :
       {RankBy::kDeepest, RankBy::kMicro, RankBy::kNumber, RankBy::kDiagonal}) {
    for (const RankBy input_grad : {RankBy::kMicro, RankBy::kDeepest,
                                    RankBy::kShallowest, RankBy::kNumber}) {
      for (const auto& [first, urgent] :
           {std::pair(true, true), std::pair(true, false),
            std::pair(false, false), std::pair(false, true)}) {
        rules.push_back({.forward_first = first,
                         .room_is_urgent = urgent,
                         .forward = forward,
                         .input_grad = input_grad});
      }
    }
  }
  return rules;
}

std::vector<TimeRule> time_rules() {
  std::vector<TimeRule> rules;
  for (const double pace : {0.5, 0.75, 1.0}) {
    for (const double input_delay : {-1.0, 0.0, 1.0}) {
      for (const bool urgent : {false, true}) {
        TimeRule rule{
            .pace = pace, .input_delay = input_delay, .room_is_urgent = urgent};
        for (const double weight_delay : {0.0, 0.5, 1.0}) {
          rule.weight_delay = weight_delay;
          rules.push_back(rule);
        }
        rule.weight_last = true;
        rules.push_back(rule);
      }
    }
  }
  return rules;
}

}  // namespace chimera::ordering
