#include "chimera/trace/merge.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "chimera/schedule/micro_index.h"

namespace chimera {
namespace {

// The compute whose result `send` carries.
size_t sent_by(const MicroIndex& index, const Action& send) {
  return send.op == Op::kSF ? index.activation(send.stage, send.micro)
                            : index.gradient(send.stage, send.micro, send.part);
}

class Merging {
 public:
  Merging(const Schedule& lowered, Trace& trace)
      : schedule_(lowered),
        index_(lowered),
        trace_(trace),
        last_compute_(trace.workers, kNone),
        last_vote_(trace.workers, kNone) {
    for (const ActionList& list : lowered.actions) {
      gated_.push_back(vote_gates_updates(list) && !has_late_vote(list));
      is_vote_late_ = has_late_vote(list);
    }
  }

  void run() {
    for (int at = 0; at < static_cast<int>(trace_.events.size()); ++at) {
      // Visits events in order of time, so every possible cause has been noted
      // before.
      trace_.events[at].cause = cause_of(trace_.events[at]);
      note(at);
    }
  }

 private:
  // (id in MicroIndex or group, copy or rank, step) -> index of the event.
  using Key = std::tuple<size_t, int, int>;

  [[nodiscard]] int copy_of(int rank) const {
    return rank / schedule_.workers();
  }

  // The event that ends later; kNone ends before any event.
  [[nodiscard]] std::int32_t later(std::int32_t a, std::int32_t b) const {
    if (a == kNone || b == kNone) return std::max(a, b);
    return trace_.events[b].end > trace_.events[a].end ? b : a;
  }
  static std::int32_t found(const std::map<Key, std::int32_t>& events,
                            const Key& key) {
    const auto event = events.find(key);
    return event == events.end() ? kNone : event->second;
  }

  [[nodiscard]] std::int32_t cause_of(const Event& event) const {
    const Action& action = event.action;
    const int copy = copy_of(event.worker);
    if (is_send(action.op)) {
      return found(made_, {sent_by(index_, action), copy, event.step});
    }
    if (action.op == Op::kG) {
      return found(gradients_,
                   {static_cast<size_t>(action.group), 0, event.step});
    }
    std::int32_t cause = last_compute_[event.worker];
    if (action.op == Op::kU) {
      for (const SumGroup& group : schedule_.groups) {
        if (!holds(group, action.stage)) continue;
        cause = later(cause, found(sums_, {static_cast<size_t>(group.id),
                                           event.worker, event.step}));
      }
      if (!gated_[event.worker % schedule_.workers()]) return cause;
      return later(cause, last_vote_[event.worker]);
    }
    if (!is_compute(action.op)) return cause;
    cause = later(cause, late_vote_before(event));
    const size_t needed = index_.needed_by(action);
    if (needed == MicroIndex::kNothing) return cause;
    return later(cause, found(arrived_, {needed, copy, event.step}));
  }

  // The late vote that V has waited for, if this compute may be the one after
  // it; kNone otherwise.
  [[nodiscard]] std::int32_t late_vote_before(const Event& event) const {
    const std::int32_t vote = last_vote_[event.worker];
    if (!is_vote_late_ || vote == kNone) return kNone;
    return trace_.events[vote].end <= event.start ? vote : kNone;
  }

  void note(std::int32_t at) {
    const Event& event = trace_.events[at];
    const Action& action = event.action;
    const int copy = copy_of(event.worker);
    if (is_send(action.op)) {
      arrived_[{sent_by(index_, action), copy, event.step}] = at;
    } else if (action.op == Op::kG) {
      sums_[{action.group, event.worker, event.step}] = at;
    } else if (action.op == Op::kN) {
      last_vote_[event.worker] = at;
    } else if (is_compute(action.op)) {
      last_compute_[event.worker] = at;
      const size_t made = index_.made_by(action);
      if (made != MicroIndex::kNothing) made_[{made, copy, event.step}] = at;
      if (gives_weight_gradient(action.op)) note_gradient(event, at);
    }
  }

  void note_gradient(const Event& event, std::int32_t at) {
    for (const SumGroup& group : schedule_.groups) {
      if (!holds(group, event.action.stage)) continue;
      const Key key{group.id, 0, event.step};
      gradients_[key] = later(found(gradients_, key), at);
    }
  }

  static bool holds(const SumGroup& group, int stage) {
    return std::any_of(
        group.members.begin(), group.members.end(),
        [stage](const Member& member) { return member.stage == stage; });
  }

  const Schedule& schedule_;
  MicroIndex index_;
  Trace& trace_;
  std::vector<bool> gated_;  // [worker]: updates wait for the vote
  bool is_vote_late_ = false;
  std::vector<std::int32_t> last_compute_;  // [rank]
  std::vector<std::int32_t> last_vote_;     // [rank]
  std::map<Key, std::int32_t> made_;        // by compute
  std::map<Key, std::int32_t> arrived_;     // by message
  std::map<Key, std::int32_t> gradients_;   // newest backward of each group
  std::map<Key, std::int32_t> sums_;
};

// Fills in what a rank could not see: events of ranks in other processes.
class Completion {
 public:
  explicit Completion(const Schedule& lowered)
      : workers_(lowered.workers()), index_(lowered) {}

  void run(std::vector<Event>& events) {
    for (const Event& event : events) note(event);
    for (Event& event : events) complete(event);
  }

 private:
  // (id of a compute, copy, step) or (group, number of the sum, step).
  using Key = std::tuple<size_t, int, int>;

  [[nodiscard]] static Key sum_key(const Event& event) {
    return {event.action.group, event.action.micro, event.step};
  }
  [[nodiscard]] Key made_key(size_t made, const Event& event) const {
    return {made, event.worker / workers_, event.step};
  }

  void note(const Event& event) {
    if (event.action.op == Op::kG) {
      double& start = sum_starts_[sum_key(event)];
      start = std::max(start, event.start);
    } else if (is_compute(event.action.op)) {
      const size_t made = index_.made_by(event.action);
      if (made == MicroIndex::kNothing) return;
      made_[made_key(made, event)] = event.end;
    }
  }

  void complete(Event& event) const {
    if (event.action.op == Op::kG) {
      event.start = std::min(event.end, sum_starts_.at(sum_key(event)));
    } else if (is_send(event.action.op) && event.start == event.end) {
      const auto made =
          made_.find(made_key(sent_by(index_, event.action), event));
      if (made != made_.end()) event.start = std::min(event.end, made->second);
    }
  }

  int workers_;
  MicroIndex index_;
  std::map<Key, double> made_;  // when each compute ended
  std::map<Key, double> sum_starts_;
};

// Replaces the peer's worker number within its copy by its rank.
void name_peer(const Schedule& lowered, Event& event) {
  if (!is_send(event.action.op)) return;
  const int copy = event.worker / lowered.workers();
  event.action.peer += copy * lowered.workers();
}

}  // namespace

Trace merge_ranks(const Schedule& lowered,
                  const std::vector<std::vector<Event>>& by_rank, int steps) {
  Trace trace;
  trace.workers = static_cast<int>(by_rank.size());
  trace.pipes = lowered.pipes();
  trace.steps = steps;
  for (const std::vector<Event>& events : by_rank) {
    trace.events.insert(trace.events.end(), events.begin(), events.end());
  }
  for (Event& event : trace.events) name_peer(lowered, event);
  Completion(lowered).run(trace.events);
  // An event of zero length comes after those that ended when it began.
  std::stable_sort(trace.events.begin(), trace.events.end(),
                   [](const Event& a, const Event& b) {
                     return std::tie(a.start, a.end) < std::tie(b.start, b.end);
                   });
  Merging(lowered, trace).run();
  return trace;
}

}  // namespace chimera
