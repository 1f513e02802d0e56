// The machine that runs the lists of a schedule: the second half of the oracle
// (brute_force.h). Its parts: brute_force_compute.cc (values and weights),
// brute_force_messages.cc, brute_force_updates.cc (sums, votes, updates).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/brute_force.h"
#include "tests/brute_force_rules.h"

namespace chimera::testing::brute_force {

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
  // Parts that have used a saved value, for the input and for the weights.
  std::map<Name, int> inputs_done;
  std::map<Name, int> parts_done;
  std::set<int> settled;        // steps whose late vote it has read
  std::set<int> has_gradients;  // steps of which it has run a backward
  double held = 0;
  double peak = 0;
  double busy = 0;
  std::optional<double> first;
  double last = 0;
};

// The name of a value that the task makes, takes or moves.
[[nodiscard]] Name name_of(const Task& t, What what);
// The same for a value that another stage made.
[[nodiscard]] Name name_at(const Task& t, What what, int stage);

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

  // brute_force_compute.cc
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

  // brute_force_messages.cc
  MessageKey message_key(const Task& t) const;
  void check_cut(const Task& t, const Message& message);
  void check_messages();

  // brute_force_updates.cc
  Tally gathered(const Task& t, int stage);
  std::set<Share> own_shares(const Task& t, int stage) const;
  void settle(int worker);
  int node_of(int rank) const;
  bool is_in_node(int from, int to) const;
  double message_bytes(const Task& t) const;
  // [node]: number of a sum's members on it. Without nodes, each member counts
  // as on a node of its own.
  std::map<int, int> spread(int group) const;
  double gradient_bytes(int group) const;
  double sum_duration(int group) const;
  double sent_between_nodes(int group) const;
  double pass_cards(int group, double now);
  void check_update(const Task& t);
  void check_vote(const Task& t);

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

}  // namespace chimera::testing::brute_force
