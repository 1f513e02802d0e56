#include "chimera/exec/program.h"

#include <algorithm>

#include "chimera/base/check.h"

namespace chimera {
namespace {

void sort_unique(std::vector<int>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

RankPlace place_of(const Schedule& schedule, int rank) {
  return {rank / schedule.workers(), rank % schedule.workers()};
}

int rank_of(const Schedule& schedule, const RankPlace& place) {
  return place.copy * schedule.workers() + place.worker;
}

int num_ranks(const Schedule& schedule) {
  return schedule.workers() * schedule.width;
}

std::vector<int> member_ranks(const Schedule& schedule, const SumGroup& group) {
  std::vector<int> ranks;
  for (int copy = 0; copy < schedule.width; ++copy) {
    for (const Member& member : group.members) {
      const int worker = schedule.placement.worker(member.pipe, member.stage);
      ranks.push_back(rank_of(schedule, {copy, worker}));
    }
  }
  sort_unique(ranks);
  return ranks;
}

std::vector<std::vector<int>> group_ranks(const Schedule& lowered) {
  std::vector<std::vector<int>> ranks;
  for (const SumGroup& group : lowered.groups) {
    ranks.push_back(member_ranks(lowered, group));
  }
  return ranks;
}

std::vector<int> stages_of(const Placement& placement, int worker) {
  std::vector<int> stages;
  for (const std::vector<int>& pipe : placement.worker_of) {
    for (int stage = 0; stage < placement.stages(); ++stage) {
      if (pipe[stage] == worker) stages.push_back(stage);
    }
  }
  sort_unique(stages);
  return stages;
}

std::vector<int> peer_ranks(const Schedule& lowered, int rank) {
  const RankPlace place = place_of(lowered, rank);
  // Rank 0 gathers from all ranks and broadcasts to them.
  std::vector<int> ranks{0};
  if (rank == 0) {
    for (int other = 0; other < num_ranks(lowered); ++other) {
      ranks.push_back(other);
    }
  }
  for (const Action& action : lowered.actions[place.worker]) {
    if (!is_message(action.op)) continue;
    ranks.push_back(rank_of(lowered, {place.copy, action.peer}));
  }
  for (const SumGroup& group : lowered.groups) {
    const std::vector<int> members = member_ranks(lowered, group);
    if (std::binary_search(members.begin(), members.end(), rank)) {
      ranks.insert(ranks.end(), members.begin(), members.end());
    }
  }
  std::erase(ranks, rank);
  sort_unique(ranks);
  return ranks;
}

Program::Program(const Schedule& schedule, int rank)
    : schedule_(schedule),
      place_(place_of(schedule, rank)),
      index_(schedule),
      recomputed_(index_.cells(), false),
      members_(group_ranks(schedule)),
      groups_of_(schedule.stages()) {
  CHIMERA_CHECK(is_lowered(schedule), "only a lowered schedule can run");
  for (const SumGroup& group : schedule.groups) {
    std::vector<int> stages;
    for (const Member& member : group.members) stages.push_back(member.stage);
    sort_unique(stages);
    for (const int stage : stages) groups_of_[stage].push_back(group.id);
  }
  // Takes the maximum over all workers: all ranks must drain the same number of
  // rounds for their steps to agree.
  closing_rounds_ = chimera::closing_rounds(schedule);
  note_list();
}

void Program::note_list() {
  vote_gates_update_ = vote_gates_updates(list());
  const auto verdict =
      std::find_if(list().begin(), list().end(),
                   [](const Action& action) { return action.op == Op::kV; });
  verdict_position_ = static_cast<size_t>(verdict - list().begin());
  for (const Action& action : list()) {
    // An asynchronous update that is not tied to one micro-batch belongs to
    // 2BW.
    if (action.op == Op::kU && action.micro == kNone) {
      double_buffered_ = is_asynchronous(schedule_);
    }
    if (action.op == Op::kR) {
      recomputed_[index_.cell(action.stage, action.micro)] = true;
    }
  }
}

Schedule forward_only(const Schedule& lowered) {
  Schedule forward = lowered;
  forward.groups.clear();
  for (ActionList& list : forward.actions) {
    std::erase_if(list, [](const Action& action) {
      // N (start the vote) stays, because the vote adds up an evaluation's
      // loss.
      return action.op != Op::kF && action.op != Op::kRF &&
             action.op != Op::kSF && action.op != Op::kN;
    });
  }
  return forward;
}

}  // namespace chimera
