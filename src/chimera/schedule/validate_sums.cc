// Rules about gradient sums, the vote and updates; then the proof that no
// worker waits forever.
#include <algorithm>
#include <set>

#include "chimera/schedule/cell.h"
#include "chimera/schedule/validate_rules.h"

namespace chimera::validating {

void Rules::file_sum(int node) {
  const Action& action = at(node);
  const int worker = where(node).worker;
  if (!asynchronous_ && action.micro != kNone) {
    report("E301", node,
           "a synchronous scheme sums once a step, not per micro-batch");
    return;
  }
  const auto [entry, fresh] =
      sum_at_[worker].emplace(SumKey{action.group, action.micro}, node);
  if (!fresh) report("E304", node, "is there already: " + name(entry->second));
}

// A group holds all holders of one stage, or of the two stages that share a
// tied weight: the first and the last.
std::string Rules::group_error(const SumGroup& group) const {
  std::set<int> stages;
  std::set<Member> members;
  for (const Member& member : group.members) {
    if (member.pipe < 0 || member.pipe >= schedule_.pipes() ||
        member.stage < 0 || member.stage >= schedule_.stages()) {
      return "names a pipe or stage that is not there";
    }
    stages.insert(member.stage);
    if (!members.insert(member).second) return "names a member twice";
  }
  if (members.empty()) return "has no members";
  if (members.size() != stages.size() * schedule_.pipes()) {
    return "must hold every holder of its stages";
  }
  if (stages.size() > 1 && stages != std::set<int>{0, schedule_.stages() - 1}) {
    return "ties other stages than the first and the last";
  }
  if (!std::is_sorted(group.members.begin(), group.members.end())) {
    return "must list its members by pipe, then stage";
  }
  return {};
}

bool Rules::groups_are_sound() {
  bool sound = true;
  for (size_t id = 0; id < schedule_.groups.size(); ++id) {
    const SumGroup& group = schedule_.groups[id];
    const int number = static_cast<int>(id);
    std::string error = group_error(group);
    if (group.id != number) {
      error = "has the id " + std::to_string(group.id) +
              "; ids must count up from 0";
    }
    if (error.empty()) continue;
    sound = false;
    report_missing("E311", kNone, {.op = Op::kG, .group = number},
                   "group " + std::to_string(id) + " " + error);
  }
  return sound && stages_are_summed_once();
}

// A stage with several holders belongs to exactly one group of that stage, and
// to at most one tied group: two groups would add its gradient twice.
bool Rules::stages_are_summed_once() {
  std::vector<int> own(schedule_.stages(), 0);
  std::vector<int> tied(schedule_.stages(), 0);
  for (const SumGroup& group : schedule_.groups) {
    std::set<int> stages;
    for (const Member& member : group.members) stages.insert(member.stage);
    for (const int stage : stages) ++(stages.size() > 1 ? tied : own)[stage];
  }
  const int needed = schedule_.pipes() > 1 || schedule_.width > 1 ? 1 : 0;
  bool sound = true;
  for (int stage = 0; stage < schedule_.stages(); ++stage) {
    std::string error;
    if (own[stage] < needed) {
      error = " has several holders but no group that sums it";
    } else if (own[stage] > 1 || tied[stage] > 1) {
      error = " is summed by two groups";
    }
    if (error.empty()) continue;
    sound = false;
    report_missing("E311", kNone, {.op = Op::kG},
                   "stage " + std::to_string(stage) + error);
  }
  return sound;
}

void Rules::find_holders() {
  groups_of_.resize(schedule_.stages());
  for (const SumGroup& group : schedule_.groups) {
    std::set<int> stages;
    std::set<int> workers;
    for (const Member& member : group.members) {
      stages.insert(member.stage);
      workers.insert(schedule_.placement.worker(member.pipe, member.stage));
    }
    for (const int stage : stages) groups_of_[stage].push_back(group.id);
    holders_.push_back(std::move(workers));
  }
}

void Rules::check_sums() {
  if (!groups_are_sound()) return;
  find_holders();
  for (const SumGroup& group : schedule_.groups) check_group_holders(group);
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    for (const auto& [key, node] : sum_at_[worker]) {
      if (holders_[key.group].count(worker) > 0) continue;
      report("E302", node, "the worker holds no member of the group");
    }
    order_sums(worker);
  }
}

// Every holder starts the sum, after the last gradient that it adds.
void Rules::check_group_holders(const SumGroup& group) {
  if (asynchronous_ && holders_[group.id].size() > 1) {
    report_missing("E311", kNone, {.op = Op::kG, .group = group.id},
                   "group " + std::to_string(group.id) +
                       " spans several workers of one copy, which an "
                       "asynchronous scheme cannot sum");
  }
  // In asynchronous schedules the rules about updates count the sums.
  if (asynchronous_) return;
  for (const int worker : holders_[group.id]) {
    if (sum_at_[worker].count({group.id, kNone}) > 0) continue;
    report_missing("E307", worker, {.op = Op::kG, .group = group.id},
                   std::to_string(group.id) + "G is missing");
  }
  for (const Member& member : group.members) {
    const int worker = schedule_.placement.worker(member.pipe, member.stage);
    const auto sum = sum_at_[worker].find({group.id, kNone});
    const auto last = last_weight_[worker].find(member.stage);
    if (sum == sum_at_[worker].end() || last == last_weight_[worker].end()) {
      continue;
    }
    needs(last->second, sum->second, "a backward whose gradient it sums");
  }
}

// A worker's sums complete in the order in which it starts them.
void Rules::order_sums(int worker) {
  std::vector<std::pair<int, SumKey>> started;  // (node, sum)
  for (const auto& [key, node] : sum_at_[worker]) {
    if (!bad_[node]) started.push_back({node, key});
  }
  std::sort(started.begin(), started.end());
  int before = kNone;
  for (const auto& [node, key] : started) {
    auto [complete, fresh] = sum_node_.emplace(key, kNone);
    if (fresh) complete->second = graph_.add_node();
    // A sum has a node of its own. It is complete once all members have started
    // it, and not before the sum that any of them started earlier.
    graph_.add_wait(node, complete->second);
    if (before != kNone) graph_.add_wait(before, complete->second);
    before = complete->second;
  }
}

void Rules::check_votes() {
  vote_node_ = graph_.add_node();
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    const int vote = vote_at_[worker];
    if (vote == kNone) {
      report_missing("E307", worker, {.op = Op::kN}, "N is missing");
      continue;
    }
    if (at(vote).step != 0 || at(vote).micro != kNone) {
      report("E301", vote, "a vote has neither step nor micro-batch");
      continue;
    }
    graph_.add_wait(vote, vote_node_);
    if (!asynchronous_) {
      for (const auto& [stage, last] : last_weight_[worker]) {
        needs(last, vote, "a gradient whose norm it reports");
      }
    }
    for (const auto& [key, sum] : sum_at_[worker]) {
      if (bad_[sum]) continue;
      if (sum > vote) {
        report("E306", sum, "stands after the vote, which reports its result");
      } else if (const auto node = sum_node_.find(key);
                 node != sum_node_.end()) {
        graph_.add_wait(node->second, vote);
      }
    }
  }
}

// The vote stands before all updates or after all of them, the same on every
// worker: an update waits for the vote if and only if the vote stands before
// it, and all holders must agree. Asynchronous updates never wait for it.
void Rules::check_vote_place() {
  int gated_worker = kNone;
  int open_worker = kNone;
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    const int vote = vote_at_[worker];
    if (vote == kNone || bad_[vote]) continue;
    for (const auto& [stage, updates] : updates_at_[worker]) {
      for (const int update : updates) {
        (vote < update ? gated_worker : open_worker) = worker;
      }
    }
    if (gated_worker != kNone && (open_worker != kNone || asynchronous_)) {
      report("E306", vote,
             asynchronous_
                 ? "stands before an update, which must not wait for it"
                 : "stands before some updates and behind others (worker " +
                       std::to_string(gated_worker) + " against worker " +
                       std::to_string(open_worker) + ")");
      return;
    }
  }
}

void Rules::check_updates() {
  check_vote_place();
  if (asynchronous_) {
    check_asynchronous_updates();
    return;
  }
  if (!lowered_) return;
  std::vector<std::set<int>> held(schedule_.workers());
  for (const std::vector<int>& row : schedule_.placement.worker_of) {
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      held[row[stage]].insert(stage);
    }
  }
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    for (const int stage : held[worker]) {
      const std::vector<int>& updates = updates_at_[worker][stage];
      if (updates.empty()) {
        const Action missing{.op = Op::kU, .stage = stage};
        report_missing("E307", worker, missing,
                       to_cell(missing) + " is missing");
      }
      for (size_t i = 1; i < updates.size(); ++i) {
        report("E304", updates[i], "is there already: " + name(updates[0]));
      }
      if (!updates.empty()) check_update(worker, stage, updates[0]);
    }
  }
}

// An update waits for all gradients of its stage, for their sums, and for the
// vote if the vote stands before it in the list.
void Rules::check_update(int worker, int stage, int node) {
  if (at(node).micro != kNone) {
    report("E301", node, "a synchronous update has no micro-batch");
    return;
  }
  const auto last = last_weight_[worker].find(stage);
  if (last != last_weight_[worker].end()) {
    needs(last->second, node, "a backward of its stage");
  }
  if (!groups_of_.empty()) {
    for (const int group : groups_of_[stage]) {
      const auto sum = sum_at_[worker].find({group, kNone});
      if (sum == sum_at_[worker].end() || bad_[sum->second]) continue;
      needs(sum->second, node, "the sum it waits for");
      if (!bad_[node]) graph_.add_wait(sum_node_.at({group, kNone}), node);
    }
  }
  const int vote = vote_at_[worker];
  const bool is_late = verdict_at_[worker] != kNone;
  if (vote != kNone && !bad_[vote] && vote < node && !is_late) {
    graph_.add_wait(vote_node_, node);
  }
}

void Rules::check_cycles() {
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    for (int node = first_node_[worker] + 1; node < first_node_[worker + 1];
         ++node) {
      graph_.add_wait(node - 1, node);
    }
  }
  // Now that each list's own order is added, the graph has every wait.
  const std::vector<int> cycle = graph_.find_cycle();
  if (cycle.empty()) return;
  const auto first = std::find_if(cycle.begin(), cycle.end(), [&](int node) {
    return node < first_node_.back();
  });
  // No action stands in the cycle, only sums.
  if (first == cycle.end()) {
    violations_.push_back({"E313", kNone, kNone, Action{},
                           "workers start their sums in different orders: " +
                               describe_cycle(cycle)});
    return;
  }
  const Where place = where(*first);
  violations_.push_back({"E310", place.worker, place.position, at(*first),
                         "waits for ever: " + describe_cycle(cycle)});
}

// Describes a cycle; of consecutive actions of one worker only the first and
// the last are named.
std::string Rules::describe_cycle(const std::vector<int>& cycle) const {
  const auto worker_at = [&](size_t i) {
    const int node = cycle[i % cycle.size()];
    return node < first_node_.back() ? where(node).worker : kNone;
  };
  std::map<int, int> group_of;  // [node of a sum]
  for (const auto& [key, node] : sum_node_) group_of[node] = key.group;
  std::vector<std::string> names;
  for (size_t i = 0; i < cycle.size(); ++i) {
    const int worker = worker_at(i);
    const bool inside = worker != kNone && worker == worker_at(i + 1) &&
                        worker == worker_at(i + cycle.size() - 1);
    if (inside) continue;
    std::string text = "the vote";
    if (worker != kNone) text = name(cycle[i]);
    if (const auto sum = group_of.find(cycle[i]); sum != group_of.end()) {
      text = "the sum " + std::to_string(sum->second) + "G";
    }
    names.push_back(text);
  }
  constexpr size_t kMost = 12;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) {
    text += names[i] + " -> ";
  }
  if (names.size() > kMost) {
    text += "... (" + std::to_string(names.size() - kMost) + " more) -> ";
  }
  return text + names.front() + " (each waited for by the next)";
}

}  // namespace chimera::validating
