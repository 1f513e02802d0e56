#include "held_curves.h"

#include <algorithm>
#include <set>
#include <utility>

namespace chimera::playground {
namespace {

// A change of what a worker holds. At one time, what ends comes first.
using Change = std::pair<double, int>;

}  // namespace

std::vector<std::vector<HeldPoint>> held_curves(const Schedule& lowered,
                                                const Trace& trace) {
  // (stage, micro) that are held from R on
  std::set<std::pair<int, int>> recomputed;
  if (holds_from_recompute(lowered)) {
    for (const Event& event : trace.events) {
      const Action& action = event.action;
      if (action.op == Op::kR) recomputed.insert({action.stage, action.micro});
    }
  }
  std::vector<std::vector<Change>> changes(lowered.workers());
  for (const Event& event : trace.events) {
    if (event.worker >= lowered.workers()) continue;
    const Action& action = event.action;
    if (action.op == Op::kF || action.op == Op::kR) {
      const bool is_late = recomputed.count({action.stage, action.micro}) > 0;
      if (is_late == (action.op == Op::kR)) {
        changes[event.worker].push_back({event.start, +1});
      }
    } else if (gives_weight_gradient(action.op) &&
               action.part + 1 == lowered.parts) {
      changes[event.worker].push_back({event.end, -1});
    }
  }
  std::vector<std::vector<HeldPoint>> curves(lowered.workers());
  for (int worker = 0; worker < lowered.workers(); ++worker) {
    std::sort(changes[worker].begin(), changes[worker].end());
    int held = 0;
    for (const auto& [time, change] : changes[worker]) {
      held += change;
      curves[worker].push_back(
          {time, static_cast<double>(held) / lowered.chunks()});
    }
  }
  return curves;
}

}  // namespace chimera::playground
