// The central value of the project: who holds which stage, and who does what
// in which order. Everything before it (specs, schemes, files) makes one;
// everything after it (validate, lower, simulate, exec, report) only reads it.
#pragma once

#include <string>
#include <vector>

#include "chimera/schedule/action.h"

namespace chimera {

// Which worker holds which stage of which pipe. A pipe is one full copy of the
// stages; a micro-batch goes through exactly one pipe.
struct Placement {
  int workers = 0;
  std::vector<std::vector<int>> worker_of;  // [pipe][stage]

  [[nodiscard]] int pipes() const { return static_cast<int>(worker_of.size()); }
  [[nodiscard]] int stages() const {
    return worker_of.empty() ? 0 : static_cast<int>(worker_of[0].size());
  }
  [[nodiscard]] int worker(int pipe, int stage) const {
    return worker_of[pipe][stage];
  }

  bool operator==(const Placement&) const = default;
};

// One holder of a stage.
struct Member {
  int pipe = 0;
  int stage = 0;

  auto operator<=>(const Member&) const = default;
};

// Holders whose gradients are added up. With width W a group spans the same
// members of all W copies.
struct SumGroup {
  int id = 0;
  std::vector<Member> members;  // in (pipe, stage) order

  bool operator==(const SumGroup&) const = default;
};

using ActionList = std::vector<Action>;
using ActionLists = std::vector<ActionList>;  // [worker], in execution order

// When weights change.
enum class UpdateRule {
  kEndOfStep,   // synchronous: once a step, with the whole mini-batch
  kEveryMicro,  // after every micro-batch (PipeDream)
  kOneBehind,   // once a step; forwards use the version before (2BW)
};

// A schedule of one copy of the model for one step. Lists are compute-only (F,
// B, I, W, and U in asynchronous schemes) or lowered (messages, sums, vote,
// recomputation and updates explicit).
struct Schedule {
  std::string scheme;
  int depth = 0;   // workers of one copy
  int micros = 0;  // micro-batches of one copy and step
  int width = 1;   // data-parallel copies
  int parts = 1;   // 2 in backward halving
  UpdateRule updates = UpdateRule::kEndOfStep;
  Placement placement;
  ActionLists actions;
  std::vector<SumGroup> groups;  // empty unless lowered

  [[nodiscard]] int workers() const { return placement.workers; }
  [[nodiscard]] int pipes() const { return placement.pipes(); }
  [[nodiscard]] int stages() const { return placement.stages(); }
  // Stages of one pipe per worker.
  [[nodiscard]] int chunks() const { return stages() / depth; }

  bool operator==(const Schedule&) const = default;
};

// More copies than any machine has workers; keeps products of counts in range.
inline constexpr int kMostCopies = 1 << 20;

// True if any action or group was added by lowering. (A compute-only schedule
// holds nothing that only lowering adds; U occurs in both kinds.)
[[nodiscard]] bool is_lowered(const Schedule& schedule);

// True if stages update at different times, so that forwards may use weights
// of the past.
[[nodiscard]] inline bool is_asynchronous(const Schedule& schedule) {
  return schedule.updates != UpdateRule::kEndOfStep;
}

// Whether the group is of the weight that first and last stage share.
[[nodiscard]] bool is_tied(const SumGroup& group);

// Whether the updates of a lowered list wait for the vote: it stands before
// them.
[[nodiscard]] bool vote_gates_updates(const ActionList& list);

[[nodiscard]] size_t num_actions(const Schedule& schedule);

}  // namespace chimera
