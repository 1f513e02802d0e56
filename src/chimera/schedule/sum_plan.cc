#include "chimera/schedule/sum_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace chimera {

std::vector<SumGroup> sum_groups(const Placement& placement, int width,
                                 bool tied) {
  std::vector<SumGroup> groups;
  const auto add = [&](const std::vector<int>& stages) {
    SumGroup group{.id = static_cast<int>(groups.size()), .members = {}};
    for (int pipe = 0; pipe < placement.pipes(); ++pipe) {
      for (const int stage : stages) group.members.push_back({pipe, stage});
    }
    groups.push_back(group);
  };
  if (placement.pipes() > 1 || width > 1) {
    for (int stage = 0; stage < placement.stages(); ++stage) add({stage});
  }
  if (tied && placement.stages() > 1) add({0, placement.stages() - 1});
  return groups;
}

namespace {

class SumPlanner {
 public:
  SumPlanner(const Schedule& schedule, const AsapTimes& times)
      : schedule_(schedule), times_(times) {
    last_backward_.assign(schedule.pipes(),
                          std::vector<int>(schedule.stages(), kNone));
    for (int worker = 0; worker < schedule.workers(); ++worker) {
      note_worker(worker);
    }
  }

  SumPlan run(const std::vector<SumGroup>& groups, Sync sync) {
    plan_.by_worker.resize(schedule_.workers());
    plan_.rank.assign(schedule_.pipes(),
                      std::vector<int>(schedule_.stages(), 0));
    std::vector<Timing> timings;
    timings.reserve(groups.size());
    for (const SumGroup& group : groups) timings.push_back(timing(group));
    std::vector<int> order(groups.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return timings[a].ready < timings[b].ready;
    });
    for (const int id : order) {
      const bool early = sync == Sync::kEager || sync == Sync::kDdp ||
                         (sync == Sync::kEagerOpt && timings[id].all_idle);
      place(groups[id], early);
    }
    return std::move(plan_);
  }

 private:
  struct Timing {
    double ready = 0;  // end of its last member's last backward
    // True if every holder idles between its last backward for the group and
    // its end.
    bool all_idle = true;
  };

  void note_worker(int worker) {
    const ActionList& list = schedule_.actions[worker];
    const auto& start = times_.start[worker];
    const auto& end = times_.end[worker];
    int last_gap = kNone;
    for (int position = 0; position < static_cast<int>(list.size());
         ++position) {
      const Action& action = list[position];
      if (gives_weight_gradient(action.op)) {
        last_backward_[action.pipe][action.stage] = position;
      }
      // The threshold is relative, so that rounding errors do not count as idle
      // time.
      if (position > 0 &&
          start[position] - end[position - 1] > 1e-9 * end.back()) {
        last_gap = position - 1;
      }
    }
    last_gap_.push_back(last_gap);
  }

  // The holders of a group, each with the position of its last backward for it.
  [[nodiscard]] std::map<int, int> holders(const SumGroup& group) const {
    std::map<int, int> last_of_worker;
    for (const Member& member : group.members) {
      const int worker = schedule_.placement.worker(member.pipe, member.stage);
      const int last = last_backward_[member.pipe][member.stage];
      const auto [entry, fresh] = last_of_worker.emplace(worker, last);
      if (!fresh) entry->second = std::max(entry->second, last);
    }
    return last_of_worker;
  }

  [[nodiscard]] Timing timing(const SumGroup& group) const {
    Timing timing;
    for (const auto& [worker, last] : holders(group)) {
      if (last == kNone) continue;
      timing.ready = std::max(timing.ready, times_.end[worker][last]);
      timing.all_idle = timing.all_idle && last <= last_gap_[worker];
    }
    return timing;
  }

  void place(const SumGroup& group, bool early) {
    for (const auto& [worker, last] : holders(group)) {
      std::vector<PlannedSum>& sums = plan_.by_worker[worker];
      const int end = static_cast<int>(schedule_.actions[worker].size()) - 1;
      int after = early ? last : end;
      // The global order holds on every worker, so a sum waits here for those
      // that come before it.
      if (!sums.empty()) after = std::max(after, sums.back().after);
      sums.push_back({group.id, after});
    }
    for (const Member& member : group.members) {
      const int worker = schedule_.placement.worker(member.pipe, member.stage);
      plan_.rank[member.pipe][member.stage] =
          static_cast<int>(plan_.by_worker[worker].size());
    }
  }

  const Schedule& schedule_;
  const AsapTimes& times_;
  std::vector<std::vector<int>> last_backward_;  // [pipe][stage]
  std::vector<int> last_gap_;  // [worker]: the last action before idle time
  SumPlan plan_;
};

}  // namespace

SumPlan plan_sums(const Schedule& schedule, const AsapTimes& times,
                  const std::vector<SumGroup>& groups, Sync sync) {
  return SumPlanner(schedule, times).run(groups, sync);
}

}  // namespace chimera
