// The machine that runs the lists. The file is longer than most on purpose: the
// meaning of every op can be read in one place.
#include "tests/brute_force.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "tests/brute_force_rules.h"

namespace chimera::testing {
namespace brute_force {
namespace {

enum class What {
  kActivation,  // what a forward sends to the next stage
  kSaved,       // what a forward keeps for its backward
  kGradient,    // what a backward sends to the stage before
  kHalf,        // what an input half keeps for its weight half
};

// The origin of a value. Values are stored and sent under this name, so that no
// worker can mistake one for another.
struct Name {
  What what = What::kActivation;
  int pipe = 0;
  int stage = 0;  // that produced it
  int micro = 0;
  int part = 0;
  int step = 0;

  auto operator<=>(const Name&) const = default;
};

struct Made {
  double time = 0;  // when it becomes available
  int version = 0;  // of the weights it was computed with
};

struct Task {
  int worker = 0;
  int step = 0;  // absolute
  Action a;
};

struct Weight {
  int version = 0;                // number of updates applied
  std::map<int, Tally> gradient;  // [step]
};

struct SumKey {
  int group = 0;
  int step = 0;
  int micro = kNone;

  auto operator<=>(const SumKey&) const = default;
};

struct Sum {
  std::set<int> starters;
  double last_start = 0;
  Tally value;
  bool done = false;
  double end = 0;
};

struct Vote {
  std::set<int> voters;
  double end = 0;
};

using MessageKey = std::tuple<Name, int, int>;  // (name, sender, receiver)

struct Message {
  // Whether its sender and its receiver had settled the step before.
  std::optional<bool> sent_settled, posted_settled;
  std::optional<double> posted;
  std::optional<double> arrives;  // set by the send
  int version = 0;
};

struct Worker {
  std::vector<Task> tasks;
  size_t next = 0;
  double clock = 0;
  double card_free = 0;  // when its network card is free for another sum
  std::map<Name, Made> store;
  std::map<int, Weight> weights;               // [stage]: shared by pipes
  std::deque<SumKey> sums;                     // started and not complete
  std::map<int, std::vector<SumKey>> started;  // [step]
  std::map<Name, int> parts_done;  // parts that have used a saved value
  std::set<int> settled;           // steps whose late vote it has read
  std::set<int> has_gradients;     // steps of which it has run a backward
  int held = 0;
  int peak = 0;
  double busy = 0;
  std::optional<double> first;
  double last = 0;
};

Name name_of(const Task& t, What what) {
  const bool whole = what == What::kActivation || what == What::kSaved;
  const int part = whole ? 0 : t.a.part;
  return {what, t.a.pipe, t.a.stage, t.a.micro, part, t.step};
}

Name name_at(const Task& t, What what, int stage) {
  Name name = name_of(t, what);
  name.stage = stage;
  return name;
}

double time_of(const Action& a, const Schedule& s, const Costs& costs) {
  const StageCosts& stage = costs.stages[a.stage];
  switch (a.op) {
    case Op::kF:
    case Op::kR:
      return stage.forward;
    case Op::kB:
      return (stage.input_grad + stage.weight_grad) / s.parts;
    case Op::kI:
      return stage.input_grad / s.parts;
    case Op::kW:
      return stage.weight_grad / s.parts;
    case Op::kU:
      return stage.update;
    default:
      return 0;
  }
}

class Machine {
 public:
  Machine(const Schedule& schedule, Kind kind, const Costs& costs,
          const ExecuteOptions& options);
  // Runs every worker as far as possible, again and again, until none advances.
  Execution run();

 private:
  void unroll(int steps);
  // Each runs one task; false: it must wait.
  bool advance(const Task& t);
  bool compute(const Task& t);
  bool update(const Task& t);
  bool send(const Task& t);
  bool receive(const Task& t);
  bool start_sum(const Task& t);
  bool vote(const Task& t);
  bool settle_updates(const Task& t);

  bool is_recomputed(const Action& a) const;
  std::vector<Name> inputs(const Task& t) const;
  std::vector<Name> outputs(const Task& t) const;
  int version_for(const Task& t);
  void check_version(const Task& t, int version);
  void give(int worker, const Name& name, const Made& made);
  void put(int worker, const Name& name, const Made& made);
  double occupy(const Task& t, double ready);
  void hold(const Task& t);
  void release(const Task& t);

  MessageKey message_key(const Task& t) const;
  Tally gathered(const Task& t, int stage);
  std::set<Share> own_shares(const Task& t, int stage) const;
  void settle(int worker);
  double sum_duration(int group) const;
  double sent_in_ring(int group) const;
  double pass_cards(int group, double now);
  void check_update(const Task& t);
  void check_vote(const Task& t);
  void check_cut(const Task& t, const Message& message);
  void check_messages();
  Execution report();
  void fail(const Task& t, const std::string& what);

  const Schedule& schedule_;
  const Kind kind_;
  const Costs& costs_;
  const bool blocking_sends_;
  std::vector<int> pipe_of_;
  std::set<std::tuple<int, int, int>> recomputed_;  // (pipe, stage, micro)
  std::vector<std::set<int>> group_workers_;
  std::map<std::pair<int, int>, std::set<int>> groups_of_;  // [(worker, stage)]
  std::vector<Worker> workers_;
  std::map<MessageKey, Message> messages_;
  std::map<std::pair<int, int>, double> link_free_;  // [(from, to)]
  std::map<SumKey, Sum> sums_;
  std::map<int, Vote> votes_;  // [step]
  bool is_late_ = false;       // V waits for the vote, not U
  Errors errors_;
};

Machine::Machine(const Schedule& schedule, Kind kind, const Costs& costs,
                 const ExecuteOptions& options)
    : schedule_(schedule),
      kind_(kind),
      costs_(costs),
      blocking_sends_(options.blocking_sends),
      pipe_of_(find_pipes(schedule)),
      group_workers_(schedule.groups.size()),
      workers_(schedule.workers()) {
  for_each_action(schedule, [this](int, const Action& a) {
    if (a.op == Op::kR) recomputed_.insert({a.pipe, a.stage, a.micro});
    if (a.op == Op::kV) is_late_ = true;
  });
  for (size_t group = 0; group < schedule.groups.size(); ++group) {
    for (const auto& [pipe, stage] : schedule.groups[group].members) {
      const int worker = schedule.placement.worker(pipe, stage);
      group_workers_[group].insert(worker);
      groups_of_[{worker, stage}].insert(static_cast<int>(group));
    }
  }
  unroll(options.steps);
}

// Round r runs an action for step r + offset, if that step exists.
void Machine::unroll(int steps) {
  int lag = 0;
  for_each_action(schedule_, [&lag](int, const Action& a) {
    lag = std::max(lag, -static_cast<int>(a.step));
  });
  for (int round = 0; round < steps + lag; ++round) {
    for_each_action(schedule_, [&](int worker, const Action& a) {
      const int step = round + a.step;
      if (!within(step, steps)) return;
      workers_[worker].tasks.push_back({worker, step, a});
    });
  }
}

Execution Machine::run() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (Worker& me : workers_) {
      while (me.next < me.tasks.size() && advance(me.tasks[me.next])) {
        ++me.next;
        moved = true;
      }
    }
  }
  return report();
}

bool Machine::advance(const Task& t) {
  switch (t.a.op) {
    case Op::kRF:
    case Op::kRB:
      return receive(t);
    case Op::kSF:
    case Op::kSB:
      return send(t);
    case Op::kG:
      return start_sum(t);
    case Op::kN:
      return vote(t);
    case Op::kV:
      return settle_updates(t);
    case Op::kU:
      return update(t);
    default:
      return compute(t);
  }
}

// Runs F, R, B, I and W.
bool Machine::compute(const Task& t) {
  Worker& me = workers_[t.worker];
  double ready = 0;
  for (const Name& name : inputs(t)) {
    const auto found = me.store.find(name);
    if (found == me.store.end()) return false;
    ready = std::max(ready, found->second.time);
  }
  hold(t);
  const double end = occupy(t, ready);
  if (is_backward(t.a.op)) me.has_gradients.insert(t.step);
  const int version = version_for(t);
  check_version(t, version);
  for (const Name& name : outputs(t)) give(t.worker, name, {end, version});
  if (gives_weight_gradient(t.a.op)) {
    const Share share{t.a.stage, t.a.micro, t.a.part};
    ++me.weights[t.a.stage].gradient[t.step][share];
    release(t);
  }
  return true;
}

bool Machine::is_recomputed(const Action& a) const {
  return recomputed_.contains({a.pipe, a.stage, a.micro});
}

std::vector<Name> Machine::inputs(const Task& t) const {
  const int stage = t.a.stage;
  std::vector<Name> names;
  if (t.a.op == Op::kF || t.a.op == Op::kR) {
    if (stage > 0) names.push_back(name_at(t, What::kActivation, stage - 1));
    if (t.a.op == Op::kR) names.push_back(name_of(t, What::kActivation));
    if (t.a.op == Op::kR && t.a.peer != kNone) {
      names.push_back(name_at(t, What::kGradient, stage + 1));
    }
  } else if (t.a.op == Op::kW) {
    names.push_back(name_of(t, What::kHalf));
  } else {
    names.push_back(name_of(t, What::kSaved));
    if (stage + 1 < schedule_.stages()) {
      names.push_back(name_at(t, What::kGradient, stage + 1));
    }
  }
  return names;
}

std::vector<Name> Machine::outputs(const Task& t) const {
  std::vector<Name> names;
  if (t.a.op == Op::kF) names.push_back(name_of(t, What::kActivation));
  // A forward that will be recomputed keeps nothing.
  if (t.a.op == Op::kR || (t.a.op == Op::kF && !is_recomputed(t.a))) {
    names.push_back(name_of(t, What::kSaved));
  }
  if (gives_gradient(t.a.op)) names.push_back(name_of(t, What::kGradient));
  if (t.a.op == Op::kI) names.push_back(name_of(t, What::kHalf));
  return names;
}

// A forward uses the newest weights (2BW: those one update before, so that all
// stages use the same); the actions after it use the forward's.
int Machine::version_for(const Task& t) {
  Worker& me = workers_[t.worker];
  if (t.a.op != Op::kF) {
    return me.store.at(name_of(t, What::kActivation)).version;
  }
  if (keeps_two_versions(schedule_)) return std::max(0, t.step - 1);
  return me.weights[t.a.stage].version;
}

// Synchronous schemes keep only the newest weights, 2BW the two newest,
// PipeDream every version that is still needed.
void Machine::check_version(const Task& t, int version) {
  const int newest = workers_[t.worker].weights[t.a.stage].version;
  int oldest = 0;
  if (keeps_two_versions(schedule_)) oldest = newest - 1;
  if (is_synchronous(schedule_)) oldest = newest;
  if (version < oldest || version > newest) {
    fail(t, "needs weights " + std::to_string(version) + ", newest are " +
                std::to_string(newest));
  }
  if (is_synchronous(schedule_) && t.a.op == Op::kF && version != t.step) {
    fail(t, "uses weights " + std::to_string(version));
  }
}

// Stores a result where it is needed: on its own worker and, in lists without
// messages, also on the neighbouring stage's worker.
void Machine::give(int worker, const Name& name, const Made& made) {
  put(worker, name, made);
  if (kind_ == Kind::kLowered) return;
  int user = kNone;
  if (name.what == What::kActivation) user = name.stage + 1;
  if (name.what == What::kGradient) user = name.stage - 1;
  if (!within(user, schedule_.stages())) return;
  const int to = schedule_.placement.worker(name.pipe, user);
  if (to == worker) return;
  put(to, name, {made.time + costs_.latency, made.version});
}

void Machine::put(int worker, const Name& name, const Made& made) {
  if (workers_[worker].store.emplace(name, made).second) return;
  errors_.push_back("worker " + std::to_string(worker) + ", step " +
                    std::to_string(name.step) + ": gets the same value of " +
                    describe(Share{name.stage, name.micro, name.part}) +
                    " twice");
}

double Machine::occupy(const Task& t, double ready) {
  Worker& me = workers_[t.worker];
  const double start = std::max(me.clock, ready);
  const double time = time_of(t.a, schedule_, costs_);
  if (!me.first) me.first = start;
  me.busy += time;
  me.clock = start + time;
  me.last = me.clock;
  return me.clock;
}

void Machine::hold(const Task& t) {
  Worker& me = workers_[t.worker];
  const bool starts =
      t.a.op == Op::kR || (t.a.op == Op::kF && !is_recomputed(t.a));
  if (starts) me.peak = std::max(me.peak, ++me.held);
}

void Machine::release(const Task& t) {
  Worker& me = workers_[t.worker];
  const int done = ++me.parts_done[name_of(t, What::kSaved)];
  if (done == schedule_.parts) --me.held;
}

MessageKey Machine::message_key(const Task& t) const {
  const bool forward = t.a.op == Op::kSF || t.a.op == Op::kRF;
  const What what = forward ? What::kActivation : What::kGradient;
  if (is_send(t.a.op)) return {name_of(t, what), t.worker, t.a.peer};
  return {name_at(t, what, other_stage(t.a)), t.a.peer, t.worker};
}

bool Machine::send(const Task& t) {
  Worker& me = workers_[t.worker];
  const MessageKey key = message_key(t);
  const Name& name = std::get<Name>(key);
  const auto found = me.store.find(name);
  if (found == me.store.end()) {
    fail(t, "sends what is not computed yet");
    return true;
  }
  Message& message = messages_[key];
  if (blocking_sends_) {
    if (!message.posted) return false;
    me.clock = std::max(me.clock, *message.posted);
  }
  if (message.arrives) {
    fail(t, "sends a second time");
    return true;
  }
  message.sent_settled = me.settled.contains(t.step - 1);
  check_cut(t, message);
  double& link = link_free_[{t.worker, t.a.peer}];
  link = std::max(link, me.clock) + costs_.time_per_message;
  message.arrives = link + costs_.latency;
  message.version = found->second.version;
  if (message.posted) put(t.a.peer, name, {*message.arrives, message.version});
  return true;
}

bool Machine::receive(const Task& t) {
  const MessageKey key = message_key(t);
  Message& message = messages_[key];
  if (message.posted) {
    fail(t, "receives a second time");
    return true;
  }
  message.posted_settled = workers_[t.worker].settled.contains(t.step - 1);
  check_cut(t, message);
  message.posted = workers_[t.worker].clock;
  if (message.arrives) {
    put(t.worker, std::get<Name>(key), {*message.arrives, message.version});
  }
  return true;
}

// If the step before is undone, its receiver drops a message that its sender
// sends again: both before their V, or neither.
void Machine::check_cut(const Task& t, const Message& message) {
  if (!message.sent_settled || !message.posted_settled) return;
  if (*message.sent_settled == *message.posted_settled) return;
  fail(t, "crosses V");
}

// This worker's part of a stage's gradient, for the task's step (and micro).
Tally Machine::gathered(const Task& t, int stage) {
  Tally tally;
  Weight& weight = workers_[t.worker].weights[stage];
  for (const auto& [share, count] : weight.gradient[t.step]) {
    if (t.a.micro == kNone || t.a.micro == share.micro) tally[share] = count;
  }
  return tally;
}

// The part it should have: the micro-batches that pass through its pipes.
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

// A ring of r ranks has 2 (r - 1) rounds, in each of which a rank sends an r-th
// of the bytes; its latency counts as often as in a tree.
double Machine::sum_duration(int group) const {
  const double ranks =
      static_cast<double>(group_workers_[group].size()) * schedule_.width;
  if (ranks == 1) return 0;
  if (costs_.sum_time) return *costs_.sum_time;
  if (!costs_.sums) return 0;
  return 2 * std::log2(ranks) * costs_.sums->latency +
         sent_in_ring(group) * costs_.sums->time_per_byte;
}

double Machine::sent_in_ring(int group) const {
  const double ranks =
      static_cast<double>(group_workers_[group].size()) * schedule_.width;
  const int stage = schedule_.groups[group].members[0].stage;
  return 2 * (ranks - 1) * (costs_.stages[stage].gradient_bytes / ranks);
}

// When the network cards of all members have passed the bytes of a sum that
// starts now, behind those of the sums before it.
double Machine::pass_cards(int group, double now) {
  if (!costs_.sums || costs_.sum_time) return now;
  double end = now;
  for (int worker : group_workers_[group]) {
    end = std::max(end, workers_[worker].card_free);
  }
  end += sent_in_ring(group) * costs_.sums->node_time_per_byte;
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

void Machine::check_messages() {
  for (const auto& [key, message] : messages_) {
    if (message.posted && message.arrives) continue;
    const auto& [name, sender, receiver] = key;
    errors_.push_back(
        "message from worker " + std::to_string(sender) + " to " +
        std::to_string(receiver) + ", step " + std::to_string(name.step) +
        ", of " + describe(Share{name.stage, name.micro, name.part}) +
        (message.posted ? " is never sent" : " is never received"));
  }
}

Execution Machine::report() {
  Execution result;
  for (const Worker& me : workers_) {
    if (me.next < me.tasks.size()) {
      const Task& t = me.tasks[me.next];
      result.waiting.push_back(describe(t.worker, t.step, t.a));
    }
    result.makespan = std::max(result.makespan, me.clock);
    result.peak.push_back(static_cast<double>(me.peak) * schedule_.depth /
                          schedule_.stages());
    result.busy.push_back(me.busy);
    result.first.push_back(me.first.value_or(0));
    result.last.push_back(me.last);
  }
  result.finished = result.waiting.empty();
  // In a deadlock, open messages are its cause or its result and already
  // reported.
  if (result.finished) check_messages();
  result.errors = std::move(errors_);
  return result;
}

void Machine::fail(const Task& t, const std::string& what) {
  errors_.push_back(describe(t.worker, t.step, t.a) + " " + what);
}

Execution check_and_run(const Schedule& schedule, Kind kind, const Costs& costs,
                        const ExecuteOptions& options) {
  Errors errors;
  if (!check_sense(schedule, kind, costs, errors)) {
    Execution result;
    result.errors = std::move(errors);
    return result;
  }
  check_contents(schedule, kind, errors);
  Execution result = Machine(schedule, kind, costs, options).run();
  result.errors.insert(result.errors.begin(), errors.begin(), errors.end());
  return result;
}

}  // namespace
}  // namespace brute_force

bool is_right(const Execution& execution) {
  return execution.finished && execution.errors.empty();
}

std::string to_text(const Execution& execution) {
  std::string text;
  for (const std::string& error : execution.errors) text += error + "\n";
  for (const std::string& wait : execution.waiting) {
    text += wait + " waits for ever\n";
  }
  return text;
}

Execution execute(const Schedule& lowered, const Costs& costs,
                  const ExecuteOptions& options) {
  return brute_force::check_and_run(lowered, brute_force::Kind::kLowered, costs,
                                    options);
}

Execution execute_compute_only(const Schedule& schedule, const Costs& costs) {
  return brute_force::check_and_run(schedule, brute_force::Kind::kComputeOnly,
                                    costs, {});
}

}  // namespace chimera::testing
