#include "chimera/schedule/schedule.h"

#include <algorithm>

namespace chimera {

std::string_view op_name(Op op) {
  static constexpr std::string_view kNames[kNumOps] = {
      "F", "B", "I", "W", "U", "R", "RF", "RB", "SF", "SB", "G", "N", "V"};
  return kNames[static_cast<int>(op)];
}

bool is_lowered(const Schedule& schedule) {
  if (!schedule.groups.empty()) return true;
  for (const ActionList& list : schedule.actions) {
    for (const Action& action : list) {
      if (action.op > Op::kU) return true;
    }
  }
  return false;
}

bool is_tied(const SumGroup& group) {
  return group.members.front().stage != group.members.back().stage;
}

bool vote_gates_updates(const ActionList& list) {
  const auto vote =
      std::find_if(list.begin(), list.end(),
                   [](const Action& action) { return action.op == Op::kN; });
  return std::any_of(vote, list.end(),
                     [](const Action& action) { return action.op == Op::kU; });
}

bool has_late_vote(const ActionList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const Action& action) { return action.op == Op::kV; });
}

Recompute recomputation(const Schedule& schedule) {
  for (const ActionList& list : schedule.actions) {
    for (const Action& action : list) {
      if (action.op != Op::kR) continue;
      return schedule.recomputed_layers > 0
                 ? Recompute::first(schedule.recomputed_layers)
                 : Recompute(true);
    }
  }
  return false;
}

int closing_rounds(const Schedule& schedule) {
  int most = 0;
  for (const ActionList& list : schedule.actions) {
    for (const Action& action : list) most = std::max<int>(most, -action.step);
  }
  return most;
}

size_t num_actions(const Schedule& schedule) {
  size_t count = 0;
  for (const ActionList& list : schedule.actions) count += list.size();
  return count;
}

}  // namespace chimera
