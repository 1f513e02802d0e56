// Rules about the updates of PipeDream and PipeDream-2BW, which update within
// the step and keep gradients in flight across steps.
#include <algorithm>

#include "chimera/schedule/cell.h"
#include "chimera/schedule/validate_rules.h"

namespace chimera::validating {

// Collects, per worker and stage, the actions that read its weights or add to
// its gradient, in list order.
void Rules::check_asynchronous_updates() {
  std::vector<std::map<int, std::vector<int>>> touching(schedule_.workers());
  for (const std::vector<int>& row : schedule_.placement.worker_of) {
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      touching[row[stage]][stage];
    }
  }
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    for (int node = first_node_[worker]; node < first_node_[worker + 1];
         ++node) {
      const Action& action = at(node);
      if (bad_[node]) continue;
      if (action.op == Op::kF || gives_weight_gradient(action.op) ||
          action.op == Op::kU) {
        touching[worker][action.stage].push_back(node);
      } else if (action.op == Op::kG && !holders_.empty()) {
        const int stage = schedule_.groups[action.group].members[0].stage;
        touching[worker][stage].push_back(node);
      }
    }
    for (const auto& [stage, nodes] : touching[worker]) {
      check_stage_sequence(worker, stage, nodes);
    }
  }
}

// PipeDream: after every weight gradient of a stage come its sum, if there are
// several copies, and its update, before anything else of that stage. 2BW: one
// sum and one update per step.
void Rules::check_stage_sequence(int worker, int stage,
                                 const std::vector<int>& nodes) {
  const bool each_micro = schedule_.updates == UpdateRule::kEveryMicro;
  const bool summed = lowered_ && schedule_.width > 1;
  int updates = 0;
  int pending = kNone;   // newest gradient that no update has applied
  int sum_open = kNone;  // sum that is started and not yet applied
  for (const int node : nodes) {
    const Action& action = at(node);
    if (action.op == Op::kF) continue;
    const int expected_micro =
        each_micro && pending != kNone ? at(pending).micro : kNone;
    if (gives_weight_gradient(action.op)) {
      if (sum_open != kNone || (each_micro && pending != kNone)) {
        report("E312", node, "comes before the update that must precede it");
      }
      pending = node;
      continue;
    }
    const bool in_turn = action.op == Op::kG ? summed && sum_open == kNone
                                             : (sum_open != kNone) == summed;
    if (pending == kNone || !in_turn || action.micro != expected_micro ||
        action.step != at(pending).step) {
      report("E312", node, "does not follow the gradient that it should apply");
      continue;
    }
    if (action.op == Op::kG) {
      sum_open = node;
      continue;
    }
    if (sum_open != kNone) {
      const auto done = sum_node_.find({at(sum_open).group, action.micro});
      if (done != sum_node_.end()) graph_.add_wait(done->second, node);
    }
    sum_open = kNone;
    pending = kNone;
    ++updates;
  }
  const int expected = each_micro ? schedule_.micros : 1;
  if (updates != expected) {
    report_missing("E307", worker, {.op = Op::kU, .stage = stage},
                   "stage " + std::to_string(stage) + " has " +
                       std::to_string(updates) + " updates a step, needs " +
                       std::to_string(expected));
  }
  if (!each_micro) check_double_buffer(nodes);
}

// 2BW: gradients before the update in the list belong to its step, those after
// it to the next. A forward of step k uses the weights after k - 1 updates, and
// the two newest versions are kept, so k - 1 or k updates must be done by then.
// (More are impossible: update k + 1 needs this step's backward.)
void Rules::check_double_buffer(const std::vector<int>& nodes) {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](int node) {
    return at(node).op == Op::kU && !bad_[node];
  });
  if (found == nodes.end()) return;
  const int update = *found;
  for (const int node : nodes) {
    const Action& action = at(node);
    const int next_update = at(update).step + (node > update ? 1 : 0);
    if (gives_weight_gradient(action.op) && action.step != next_update) {
      report("E312", node, "belongs to another step than its update");
    }
    const bool too_late = action.step > next_update + 1 && !bad_[update];
    if (action.op == Op::kF && too_late) {
      report("E312", update,
             "comes too late for " + name(node) +
                 ", which runs on weights that are one update behind");
    }
  }
}

}  // namespace chimera::validating
