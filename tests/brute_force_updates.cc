// G, N, V and U: the way of a gradient into the weights.
#include <algorithm>
#include <cmath>

#include "tests/brute_force_machine.h"

namespace chimera::testing::brute_force {

// This worker's part of a stage's gradient, for the task's step (and micro).
Tally Machine::gathered(const Task& t, int stage) {
  Tally tally;
  Weight& weight = workers_[t.worker].weights[stage];
  for (const auto& [share, count] : weight.gradient[t.step]) {
    if (t.a.micro == kNone || t.a.micro == share.micro) tally[share] = count;
  }
  return tally;
}

// The shares that this worker's part of a gradient should have: those of the
// micro-batches that pass through its pipes.
std::set<Share> Machine::own_shares(const Task& t, int stage) const {
  std::set<Share> shares =
      shares_of(schedule_, stage, t.a.micro, schedule_.parts);
  std::erase_if(shares, [&](const Share& share) {
    const int pipe = pipe_of_[share.micro];
    return pipe == kNone || schedule_.placement.worker(pipe, stage) != t.worker;
  });
  return shares;
}

bool Machine::start_sum(const Task& t) {
  Worker& me = workers_[t.worker];
  if (!group_workers_[t.a.group].contains(t.worker)) {
    fail(t, "is not a member of the group");
    return true;
  }
  const SumKey key{t.a.group, t.step, t.a.micro};
  Sum& sum = sums_[key];
  if (!sum.starters.insert(t.worker).second) {
    fail(t, "starts a sum a second time");
    return true;
  }
  for (int stage : stages_in(schedule_.groups[t.a.group])) {
    const Tally mine = gathered(t, stage);
    expect_once(mine, own_shares(t, stage),
                describe(t.worker, t.step, t.a) + " sums a wrong gradient",
                errors_);
    for (const auto& [share, count] : mine) sum.value[share] += count;
  }
  sum.last_start = std::max(sum.last_start, me.clock);
  me.sums.push_back(key);
  me.started[t.step].push_back(key);
  settle(t.worker);
  return true;
}

// Completes the sum that this worker started first, if all members have started
// it and have no earlier sum to complete.
void Machine::settle(int worker) {
  if (workers_[worker].sums.empty()) return;
  const SumKey key = workers_[worker].sums.front();
  const std::set<int>& members = group_workers_[key.group];
  for (int member : members) {
    const std::deque<SumKey>& sums = workers_[member].sums;
    if (sums.empty() || sums.front() != key) return;
  }
  Sum& sum = sums_[key];
  sum.done = true;
  sum.end = std::max(sum.last_start + sum_duration(key.group),
                     pass_cards(key.group, sum.last_start));
  for (int member : members) workers_[member].sums.pop_front();
  for (int member : members) settle(member);
}

std::map<int, int> Machine::spread(int group) const {
  std::map<int, int> members;
  for (int copy = 0; copy < schedule_.width; ++copy) {
    for (const int worker : group_workers_[group]) {
      const int rank = copy * schedule_.workers() + worker;
      ++members[costs_.node ? node_of(rank) : rank];
    }
  }
  return members;
}

double Machine::gradient_bytes(int group) const {
  return costs_.stages[schedule_.groups[group].members[0].stage].gradient_bytes;
}

// A ring of r ranks has 2 (r - 1) rounds, in each of which a rank sends an r-th
// of the bytes; its latency counts as often as in a tree. The ranks of a node
// have a ring, and so have the nodes, in which each rank carries the bytes that
// it has after the first half of its node's ring.
double Machine::sum_duration(int group) const {
  const std::map<int, int> nodes = spread(group);
  double most = 0;
  for (const auto& [node, members] : nodes) {
    most = std::max(most, static_cast<double>(members));
  }
  const auto count = static_cast<double>(nodes.size());
  if (count == 1 && most == 1) return 0;
  if (costs_.sum_time) return *costs_.sum_time;
  if (!costs_.sums) return 0;
  double time = 2 * std::log2(count) * costs_.sums->latency +
                sent_between_nodes(group) * costs_.sums->time_per_byte;
  if (costs_.node) {
    time += 2 * std::log2(most) * costs_.node->latency +
            2 * (most - 1) * (gradient_bytes(group) / most) *
                costs_.node->time_per_byte;
  }
  return time;
}

// The bytes that a rank of the emptiest node sends to other nodes.
double Machine::sent_between_nodes(int group) const {
  const std::map<int, int> nodes = spread(group);
  int least = nodes.begin()->second;
  for (const auto& [node, members] : nodes) least = std::min(least, members);
  const auto count = static_cast<double>(nodes.size());
  return 2 * (count - 1) * (gradient_bytes(group) / least / count);
}

// The time at which the network cards of all members have passed the bytes of a
// sum that starts now, queued behind the sums before it.
double Machine::pass_cards(int group, double now) {
  if (!costs_.sums || costs_.sum_time) return now;
  if (costs_.node && spread(group).size() == 1) return now;
  double end = now;
  for (int worker : group_workers_[group]) {
    end = std::max(end, workers_[worker].card_free);
  }
  end += sent_between_nodes(group) * costs_.sums->node_time_per_byte;
  for (int worker : group_workers_[group]) workers_[worker].card_free = end;
  return end;
}

bool Machine::vote(const Task& t) {
  Worker& me = workers_[t.worker];
  double ready = me.clock;
  for (const SumKey& key : me.started[t.step]) {
    if (!sums_[key].done) return false;
    ready = std::max(ready, sums_[key].end);
  }
  if (is_synchronous(schedule_)) check_vote(t);
  me.clock = ready;
  Vote& vote = votes_[t.step];
  vote.voters.insert(t.worker);
  vote.end = std::max(vote.end, ready);
  return true;
}

// The vote carries the norm of the gradients, so these must be complete and
// summed, unless an update has consumed them.
void Machine::check_vote(const Task& t) {
  for (int stage : stages_on(schedule_, t.worker)) {
    if (workers_[t.worker].weights[stage].version > t.step) continue;
    expect_once(gathered(t, stage), own_shares(t, stage),
                describe(t.worker, t.step, t.a) + " votes too early", errors_);
    for (int group : groups_of_[{t.worker, stage}]) {
      if (sums_[{group, t.step, kNone}].starters.contains(t.worker)) continue;
      fail(t, "votes before the sum of group " + std::to_string(group));
    }
  }
}

// V: the updates of t.step might have to be undone and done again, so their
// gradients must still be there, and no update may follow on them.
bool Machine::settle_updates(const Task& t) {
  Worker& me = workers_[t.worker];
  const Vote& vote = votes_[t.step];
  if (vote.voters.size() < workers_.size()) return false;
  me.clock = std::max(me.clock, vote.end);
  me.settled.insert(t.step);
  const int next = t.step + 1;
  if (me.has_gradients.contains(next)) fail(t, "comes after a backward");
  if (!me.started[next].empty()) fail(t, "comes after a sum");
  if (votes_[next].voters.contains(t.worker)) fail(t, "comes after a vote");
  for (int stage : stages_on(schedule_, t.worker)) {
    if (me.weights[stage].version == next) continue;
    fail(t, "does not find the updates of the step before");
  }
  return true;
}

bool Machine::update(const Task& t) {
  Worker& me = workers_[t.worker];
  double ready = me.clock;
  for (int group : groups_of_[{t.worker, t.a.stage}]) {
    const Sum& sum = sums_[{group, t.step, t.a.micro}];
    if (!sum.done) return false;
    ready = std::max(ready, sum.end);
  }
  const Vote& vote = votes_[t.step];
  const bool has_voted = vote.voters.contains(t.worker);
  if (is_late_ && !has_voted) fail(t, "is not decided by the vote");
  // An update of an asynchronous scheme may lag behind its step's vote, but
  // never waits for it.
  if (has_voted && !is_late_ && is_synchronous(schedule_)) {
    if (vote.voters.size() < workers_.size()) return false;
    ready = std::max(ready, vote.end);
  }
  occupy(t, ready);
  check_update(t);
  Weight& weight = me.weights[t.a.stage];
  for (const auto& [share, count] : gathered(t, t.a.stage)) {
    weight.gradient[t.step].erase(share);
  }
  ++weight.version;
  return true;
}

// Checks that every gradient an update applies holds every micro-batch exactly
// once: the stage's sum (or, with one holder, its gradient) and that of a tied
// weight.
void Machine::check_update(const Task& t) {
  const std::string what =
      describe(t.worker, t.step, t.a) + " applies a wrong gradient";
  bool is_summed = false;
  for (int group : groups_of_[{t.worker, t.a.stage}]) {
    const std::set<int> stages = stages_in(schedule_.groups[group]);
    std::set<Share> want;
    for (int stage : stages) {
      want.merge(shares_of(schedule_, stage, t.a.micro, schedule_.parts));
    }
    expect_once(sums_[{group, t.step, t.a.micro}].value, want, what, errors_);
    is_summed = is_summed || stages.size() == 1;
  }
  if (is_summed) return;
  expect_once(gathered(t, t.a.stage),
              shares_of(schedule_, t.a.stage, t.a.micro, schedule_.parts), what,
              errors_);
}

}  // namespace chimera::testing::brute_force
