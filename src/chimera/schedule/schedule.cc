#include "chimera/schedule/schedule.h"

namespace chimera {

std::string_view op_name(Op op) {
  static constexpr std::string_view kNames[kNumOps] = {
      "F", "B", "I", "W", "U", "R", "RF", "RB", "SF", "SB", "G", "N"};
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

size_t num_actions(const Schedule& schedule) {
  size_t count = 0;
  for (const ActionList& list : schedule.actions) count += list.size();
  return count;
}

}  // namespace chimera
