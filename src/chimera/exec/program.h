// One rank's view of a lowered schedule: its list, and everything that follows
// from the schedule alone, computed once before the first step.
#pragma once

#include <vector>

#include "chimera/schedule/micro_index.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// Worker w of copy c is rank c * depth + w.
struct RankPlace {
  int copy = 0;
  int worker = 0;
};
[[nodiscard]] RankPlace place_of(const Schedule& schedule, int rank);
[[nodiscard]] int rank_of(const Schedule& schedule, const RankPlace& place);
[[nodiscard]] int num_ranks(const Schedule& schedule);

// The ranks of a group's all-reduce, ascending.
[[nodiscard]] std::vector<int> member_ranks(const Schedule& schedule,
                                            const SumGroup& group);

// The ranks of every group, by group number.
[[nodiscard]] std::vector<std::vector<int>> group_ranks(
    const Schedule& lowered);

// The stages that a worker holds, each once, ascending.
[[nodiscard]] std::vector<int> stages_of(const Placement& placement,
                                         int worker);

// The ranks that `rank` sends to, receives from or shares a group with, and
// rank 0; ascending.
[[nodiscard]] std::vector<int> peer_ranks(const Schedule& lowered, int rank);

class Program {
 public:
  // REQUIRES: `schedule` is lowered, validates clean and outlives this.
  Program(const Schedule& schedule, int rank);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const RankPlace& place() const { return place_; }
  [[nodiscard]] const ActionList& list() const {
    return schedule_.actions[place_.worker];
  }
  [[nodiscard]] const MicroIndex& index() const { return index_; }

  // Stages that this worker holds, each once, ascending.
  [[nodiscard]] std::vector<int> stages() const {
    return stages_of(schedule_.placement, place_.worker);
  }

  // Number of rounds after the last step that drain work in flight.
  [[nodiscard]] int closing_rounds() const { return closing_rounds_; }
  // True if the vote decides about updates, which then stand after it in the
  // list.
  [[nodiscard]] bool vote_gates_update() const { return vote_gates_update_; }
  // Position of V in the list; the end of the list without V. With V, updates
  // are applied before the vote that decides about them is known.
  [[nodiscard]] size_t verdict_position() const { return verdict_position_; }
  [[nodiscard]] bool has_late_vote() const {
    return verdict_position_ < list().size();
  }
  // Whether forwards use weights that are one update old (PipeDream-2BW).
  [[nodiscard]] bool is_double_buffered() const { return double_buffered_; }
  [[nodiscard]] bool is_recomputed(int stage, int micro) const {
    return recomputed_[index_.cell(stage, micro)];
  }
  [[nodiscard]] bool is_last_stage(int stage) const {
    return stage + 1 == schedule_.stages();
  }
  // Whether this worker holds `stage` of `pipe`.
  [[nodiscard]] bool is_here(int pipe, int stage) const {
    return schedule_.placement.worker(pipe, stage) == place_.worker;
  }
  [[nodiscard]] int rank_of_worker(int worker) const {
    return rank_of(schedule_, {place_.copy, worker});
  }

  [[nodiscard]] const std::vector<int>& members(int group) const {
    return members_[group];
  }
  // Groups that `stage`'s update waits for.
  [[nodiscard]] const std::vector<int>& groups_of(int stage) const {
    return groups_of_[stage];
  }

 private:
  void note_list();

  const Schedule& schedule_;
  RankPlace place_;
  MicroIndex index_;
  int closing_rounds_ = 0;
  bool vote_gates_update_ = false;
  size_t verdict_position_ = 0;
  bool double_buffered_ = false;
  std::vector<bool> recomputed_;             // [cell]
  std::vector<std::vector<int>> members_;    // [group], ranks
  std::vector<std::vector<int>> groups_of_;  // [stage]
};

// Reduces a lowered schedule to its forwards, their messages and the vote, for
// evaluations. ENSURES: the lists finish without deadlock, because they keep
// the order of the lowered lists, which do.
[[nodiscard]] Schedule forward_only(const Schedule& lowered);

}  // namespace chimera
