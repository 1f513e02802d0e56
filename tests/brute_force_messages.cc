// SF, SB, RF and RB: messages between workers.
#include <algorithm>

#include "tests/brute_force_machine.h"

namespace chimera::testing::brute_force {

MessageKey Machine::message_key(const Task& t) const {
  const bool forward = t.a.op == Op::kSF || t.a.op == Op::kRF;
  const What what = forward ? What::kActivation : What::kGradient;
  if (is_send(t.a.op)) return {name_of(t, what), t.worker, t.a.peer};
  return {name_at(t, what, other_stage(t.a)), t.a.peer, t.worker};
}

int Machine::node_of(int rank) const {
  const int here = costs_.node->ranks;
  if (costs_.node->distribution == Distribution::kBlock) return rank / here;
  const int ranks = schedule_.width * schedule_.workers();
  int nodes = ranks / here;
  if (nodes * here < ranks) ++nodes;
  while (rank >= nodes) rank -= nodes;
  return rank;
}

// Whether a message stays within a node, in every copy of the pipeline.
bool Machine::is_in_node(int from, int to) const {
  if (!costs_.node) return false;
  for (int copy = 0; copy < schedule_.width; ++copy) {
    const int first = copy * schedule_.workers();
    if (node_of(first + from) != node_of(first + to)) return false;
  }
  return true;
}

// A wrong list may send the gradient of stage 0, which nobody needs.
double Machine::message_bytes(const Task& t) const {
  if (t.a.op == Op::kSF) return costs_.stages[t.a.stage].boundary_bytes;
  if (t.a.stage == 0) return 0;
  return costs_.stages[t.a.stage - 1].boundary_bytes / schedule_.parts;
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
  const bool near = is_in_node(t.worker, t.a.peer);
  link = std::max(link, me.clock) + costs_.time_per_message +
         message_bytes(t) *
             (near ? costs_.node->time_per_byte : costs_.time_per_byte);
  message.arrives = link + (near ? costs_.node->latency : costs_.latency);
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

// Fails if only one end of a message comes before its worker's V: if the vote
// undoes the step before, lists run again up to V, and only that end would be
// repeated.
void Machine::check_cut(const Task& t, const Message& message) {
  if (!message.sent_settled || !message.posted_settled) return;
  if (*message.sent_settled == *message.posted_settled) return;
  fail(t, "crosses V");
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

}  // namespace chimera::testing::brute_force
