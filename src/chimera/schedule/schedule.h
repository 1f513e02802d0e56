// The central value of the project: which worker holds which stage, and what
// each worker does in which order. Specs, schemes and files produce a Schedule;
// validate, lower, simulate, exec and report only read it.
#pragma once

#include <string>
#include <vector>

#include "chimera/schedule/action.h"
#include "chimera/schedule/recompute.h"

namespace chimera {

// The worker of each stage of each pipe. A pipe is one full sequence of the
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

// One stage of one pipe, as a member of a SumGroup.
struct Member {
  int pipe = 0;
  int stage = 0;

  auto operator<=>(const Member&) const = default;
};

// The holders of one stage, whose gradients are summed. With width W the group
// spans the same members of all W copies.
struct SumGroup {
  int id = 0;
  std::vector<Member> members;  // in (pipe, stage) order

  bool operator==(const SumGroup&) const = default;
};

using ActionList = std::vector<Action>;
using ActionLists = std::vector<ActionList>;  // [worker], in execution order

// When weights are updated.
enum class UpdateRule {
  kEndOfStep,   // synchronous: once a step, over the whole mini-batch
  kEveryMicro,  // after every micro-batch (PipeDream)
  kOneBehind,   // once a step; forwards use the previous version (2BW)
};

// The schedule of one copy of the model for one step. Its lists are
// compute-only (F, B, I, W, and U in asynchronous schemes) or lowered
// (messages, sums, vote, recomputation and updates are explicit).
struct Schedule {
  std::string scheme;
  int depth = 0;   // workers of one copy
  int micros = 0;  // micro-batches per copy and step
  int width = 1;   // data-parallel copies
  int parts = 1;   // 2 in backward halving
  UpdateRule updates = UpdateRule::kEndOfStep;
  // The layers of a stage that its R runs again, from the first; 0 = all.
  int recomputed_layers = 0;
  Placement placement;
  ActionLists actions;
  std::vector<SumGroup> groups;  // empty unless lowered

  [[nodiscard]] int workers() const { return placement.workers; }
  [[nodiscard]] int pipes() const { return placement.pipes(); }
  [[nodiscard]] int stages() const { return placement.stages(); }
  // Stages per worker in one pipe.
  [[nodiscard]] int chunks() const { return stages() / depth; }

  bool operator==(const Schedule&) const = default;
};

// More workers than any machine has, in all copies together; keeps products of
// counts in range.
inline constexpr int kMostWorkers = 1 << 20;

// True if lowering has added any action or group. U does not count: it occurs
// in compute-only schedules too.
[[nodiscard]] bool is_lowered(const Schedule& schedule);

// True if updates happen within or across steps, so that forwards may use
// outdated weights.
[[nodiscard]] inline bool is_asynchronous(const Schedule& schedule) {
  return schedule.updates != UpdateRule::kEndOfStep;
}

// True if the group sums the weight that the first and the last stage share.
[[nodiscard]] bool is_tied(const SumGroup& group);

// True if the vote decides about the updates of a lowered list: N stands before
// them. They wait for it, unless the vote is late.
[[nodiscard]] bool vote_gates_updates(const ActionList& list);

// True if the updates of a lowered list are applied before the vote is known,
// and V in the next step's round settles them.
[[nodiscard]] bool has_late_vote(const ActionList& list);

// What the actions R of a lowered schedule recompute.
[[nodiscard]] Recompute recomputation(const Schedule& schedule);

// True if a micro-batch that is recomputed takes memory from its R on, not from
// its F. One that is recomputed in part counts as a whole from its F.
[[nodiscard]] inline bool holds_from_recompute(const Schedule& schedule) {
  return schedule.recomputed_layers == 0;
}

[[nodiscard]] size_t num_actions(const Schedule& schedule);

// Rounds of the lists after the last forwards, which drain the pipeline; 0 in
// synchronous schedules without late votes.
[[nodiscard]] int closing_rounds(const Schedule& schedule);

}  // namespace chimera
