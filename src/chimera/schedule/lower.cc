#include "chimera/schedule/lower.h"

#include <algorithm>
#include <tuple>

#include "chimera/base/check.h"
#include "chimera/schedule/asap.h"
#include "chimera/schedule/micro_index.h"
#include "chimera/schedule/sum_plan.h"

namespace chimera {
namespace {

// True if the mode places each update right behind its sums, instead of all
// updates together at the end of the step.
bool places_updates(Sync sync) {
  return sync == Sync::kDdp || sync == Sync::kBlocking;
}

class Lowering {
 public:
  Lowering(const Schedule& schedule, const LowerOptions& options,
           const Costs& costs)
      : source_(schedule),
        options_(options),
        asynchronous_(is_asynchronous(schedule)),
        times_(asap(schedule, costs)),
        lowered_(schedule),
        recomputed_(MicroIndex(schedule).cells()),
        next_sum_(schedule.workers(), 0) {
    for (ActionList& list : lowered_.actions) list.clear();
    if (options.recompute && !options.recompute.is_all()) {
      lowered_.recomputed_layers = options.recompute.layers();
    }
    lowered_.groups =
        sum_groups(schedule.placement, schedule.width, options.tied);
    if (!asynchronous_) {
      sums_ = plan_sums(source_, times_, lowered_.groups, options.sync);
      updates_ = updates_by_worker();
    }
    if (options.sync == Sync::kDdp) note_last_backwards();
  }

  Schedule run() {
    bool is_vote_open =
        options_.vote_gates_update && options_.late_vote && !asynchronous_;
    // Whatever is emitted is appended in one global order of the actions,
    // whichever list it belongs to. Waits therefore point back in that order,
    // and cannot form a cycle.
    for (const Place& place : times_.order) {
      if (is_vote_open && is_backward(action_at(place).op)) {
        emit_verdicts();
        is_vote_open = false;
      }
      emit(place);
    }
    if (asynchronous_) {
      for (ActionList& list : lowered_.actions) list.push_back({.op = Op::kN});
    } else {
      close_step();
    }
    return std::move(lowered_);
  }

 private:
  void note_last_backwards() {
    last_backward_.assign(source_.stages(), kNone);
    for (const ActionList& list : source_.actions) {
      for (size_t at = 0; at < list.size(); ++at) {
        if (!gives_weight_gradient(list[at].op)) continue;
        last_backward_[list[at].stage] = static_cast<int>(at);
      }
    }
  }

  [[nodiscard]] const Action& action_at(const Place& place) const {
    return source_.actions[place.worker][place.position];
  }

  // Emits V to all workers at one place of the global order. What stands before
  // it is then a consistent cut: a message is sent and posted before V on both
  // ends, or after V on both.
  void emit_verdicts() {
    for (ActionList& list : lowered_.actions) {
      list.push_back({.op = Op::kV, .step = -1});
    }
  }

  void emit(const Place& place) {
    const Action& action = action_at(place);
    ActionList& list = lowered_.actions[place.worker];
    if (options_.recompute && gives_gradient(action.op)) {
      emit_recompute(action, list);
    }
    const bool is_ddp = options_.sync == Sync::kDdp;
    if (action.op == Op::kU) {
      if (!is_ddp) emit_asynchronous_update(action, list);
      return;
    }
    list.push_back(action);
    if (is_ddp) emit_ddp_updates(place);
    emit_messages(action, place.worker);
    if (!asynchronous_ && !places_updates(options_.sync)) {
      start_sums(place.worker, place.position);
    }
  }

  // With kDdp: emits the sum and the update that stand between the last
  // backward of a stage and its message.
  void emit_ddp_updates(const Place& place) {
    const ActionList& source = source_.actions[place.worker];
    ActionList& list = lowered_.actions[place.worker];
    if (asynchronous_) {
      const size_t next = place.position + 1;
      if (next < source.size() && source[next].op == Op::kU) {
        emit_asynchronous_update(source[next], list);
      }
      return;
    }
    const Action& action = source[place.position];
    if (last_backward_[action.stage] != place.position) return;
    start_sums(place.worker, place.position);
    list.push_back({.op = Op::kU, .pipe = action.pipe, .stage = action.stage});
  }

  // Emits R before the first backward part. R is a separate action because it
  // needs no gradient: it runs while the gradient is still in flight, unless it
  // is to be late.
  void emit_recompute(const Action& backward, ActionList& list) {
    const bool is_last = backward.stage + 1 == source_.stages();
    // In an asynchronous scheme the last stage runs each backward right behind
    // its forward, so recomputing there would save nothing.
    if (options_.recompute_late && asynchronous_ && is_last) return;
    const size_t cell =
        MicroIndex(source_).cell(backward.stage, backward.micro);
    if (recomputed_[cell]) return;
    recomputed_[cell] = true;
    Action recompute = backward;
    recompute.op = Op::kR;
    recompute.part = 0;
    if (options_.recompute_late && !is_last) {
      const auto worker_of = [&](int stage) {
        return source_.placement.worker(backward.pipe, stage);
      };
      const int sender = worker_of(backward.stage + 1);
      if (sender != worker_of(backward.stage)) recompute.peer = sender;
    }
    list.push_back(recompute);
  }

  // Appends the send to its worker and the post to the receiver when the
  // producer is placed. Both lists then follow one global order, so they finish
  // even if every send blocks until its receive is posted.
  void emit_messages(const Action& action, int worker) {
    int next = kNone;
    if (action.op == Op::kF && action.stage + 1 < source_.stages()) {
      next = action.stage + 1;
    } else if (gives_gradient(action.op) && action.stage > 0) {
      next = action.stage - 1;
    }
    if (next == kNone) return;
    const int receiver = source_.placement.worker(action.pipe, next);
    if (receiver == worker) return;
    const bool forward = action.op == Op::kF;
    Action post = action;
    post.op = forward ? Op::kRF : Op::kRB;
    post.stage = next;
    post.peer = worker;
    lowered_.actions[receiver].push_back(post);
    Action send = action;
    send.op = forward ? Op::kSF : Op::kSB;
    send.peer = receiver;
    lowered_.actions[worker].push_back(send);
  }

  // Emits an update and its sum: an asynchronous scheme updates many times a
  // step, and with several copies each update needs a sum. Such schemes have
  // one pipe, so the group's number is the stage's.
  void emit_asynchronous_update(const Action& update, ActionList& list) {
    if (!lowered_.groups.empty()) {
      list.push_back({.op = Op::kG,
                      .step = update.step,
                      .micro = update.micro,
                      .group = update.stage});
    }
    list.push_back(update);
  }

  // Emits every planned sum that may start once `position` is done.
  void start_sums(int worker, int position) {
    const std::vector<PlannedSum>& sums = sums_.by_worker[worker];
    size_t& next = next_sum_[worker];
    for (; next < sums.size() && sums[next].after <= position; ++next) {
      lowered_.actions[worker].push_back(
          {.op = Op::kG, .group = sums[next].group});
    }
  }

  // Ends the lists: remaining sums, then vote and updates.
  void close_step() {
    for (int worker = 0; worker < source_.workers(); ++worker) {
      ActionList& list = lowered_.actions[worker];
      if (options_.sync == Sync::kBlocking) emit_blocking_sums(worker);
      start_sums(worker, static_cast<int>(source_.actions[worker].size()));
      // The place of N alone says whether updates wait for it.
      if (options_.vote_gates_update) list.push_back({.op = Op::kN});
      if (!places_updates(options_.sync)) emit_updates(worker, kNone);
      if (!options_.vote_gates_update) list.push_back({.op = Op::kN});
    }
  }

  // Emits the worker's sums, and behind each the updates that wait for no later
  // one.
  void emit_blocking_sums(int worker) {
    const std::vector<PlannedSum>& sums = sums_.by_worker[worker];
    size_t& next = next_sum_[worker];
    emit_updates(worker, 0);
    while (next < sums.size()) {
      lowered_.actions[worker].push_back(
          {.op = Op::kG, .group = sums[next].group});
      emit_updates(worker, static_cast<int>(++next));
    }
  }

  // Emits the updates for which the worker has started `rank` sums; kNone: all.
  void emit_updates(int worker, int rank) {
    for (const Member& member : updates_[worker]) {
      if (rank != kNone && sums_.rank[member.pipe][member.stage] != rank) {
        continue;
      }
      lowered_.actions[worker].push_back(
          {.op = Op::kU, .pipe = member.pipe, .stage = member.stage});
    }
  }

  // The stages to update, per worker, in the order in which their sums
  // complete. Pipes that share a stage on a worker share its update.
  [[nodiscard]] std::vector<std::vector<Member>> updates_by_worker() const {
    std::vector<std::vector<Member>> held(source_.workers());
    for (int pipe = 0; pipe < source_.pipes(); ++pipe) {
      for (int stage = 0; stage < source_.stages(); ++stage) {
        held[source_.placement.worker(pipe, stage)].push_back({pipe, stage});
      }
    }
    for (std::vector<Member>& members : held) {
      std::sort(members.begin(), members.end(), by_stage);
      const auto twins =
          std::unique(members.begin(), members.end(), same_stage);
      members.erase(twins, members.end());
      std::sort(members.begin(), members.end(),
                [&](const Member& a, const Member& b) {
                  return std::tuple(sums_.rank[a.pipe][a.stage], a.stage) <
                         std::tuple(sums_.rank[b.pipe][b.stage], b.stage);
                });
    }
    return held;
  }

  static bool by_stage(const Member& a, const Member& b) {
    return std::tie(a.stage, a.pipe) < std::tie(b.stage, b.pipe);
  }
  static bool same_stage(const Member& a, const Member& b) {
    return a.stage == b.stage;
  }

  const Schedule& source_;
  const LowerOptions& options_;
  bool asynchronous_;
  AsapTimes times_;
  Schedule lowered_;
  SumPlan sums_;
  std::vector<std::vector<Member>> updates_;  // [worker], of a synchronous step
  // [stage]: position on its worker; only with kDdp, where it has one holder.
  std::vector<int> last_backward_;
  std::vector<bool> recomputed_;  // [cell]
  std::vector<size_t> next_sum_;  // [worker]
};

}  // namespace

Schedule compute_only(const Schedule& lowered) {
  Schedule schedule = lowered;
  schedule.groups.clear();
  schedule.recomputed_layers = 0;
  for (ActionList& list : schedule.actions) {
    std::erase_if(list, [](const Action& action) {
      return action.op != Op::kF && !is_backward(action.op);
    });
  }
  return schedule;
}

Diagnostics check_lowering(const Schedule& schedule,
                           const LowerOptions& options) {
  Diagnostics errors;
  if (!places_updates(options.sync)) return errors;
  const std::string sync = "sync " + std::string(name_of(options.sync));
  const auto refuse = [&](const std::string& needed, const std::string& hint) {
    errors.push_back(
        {.code = "E212", .found = sync, .needed = needed, .hint = hint});
  };
  if (options.vote_gates_update && !is_asynchronous(schedule)) {
    refuse(
        "updates before the step ends, but a vote decides about them "
        "(train.clip, train.on_nan = \"skip\", run.recover)",
        "switch these off, or use another sync");
  }
  if (options.sync != Sync::kDdp) return errors;
  if (options.tied) {
    refuse("sums each stage by itself, but the first and last share a weight",
           "use untied embeddings");
  }
  for (const std::vector<int>& pipe : schedule.placement.worker_of) {
    if (pipe == schedule.placement.worker_of.front()) continue;
    refuse("needs one holder of each stage in a copy; " + schedule.scheme +
               " has several",
           "use sync blocking, or a scheme with one pipe");
    break;
  }
  return errors;
}

Schedule lower(const Schedule& schedule, const LowerOptions& options) {
  CHIMERA_CHECK(!is_lowered(schedule), "the schedule is lowered already");
  CHIMERA_CHECK(check_lowering(schedule, options).empty(),
                "this schedule cannot be lowered so");
  const Costs unit = uniform_costs(schedule, {});
  const Costs& costs = options.costs == nullptr ? unit : *options.costs;
  return Lowering(schedule, options, costs).run();
}

Result<Schedule> lower_checked(const Schedule& schedule,
                               const LowerOptions& options,
                               const ValidateOptions& proof) {
  if (!is_lowered(schedule)) {
    Diagnostics errors = check_lowering(schedule, options);
    if (!errors.empty()) return errors;
  }
  Schedule lowered = is_lowered(schedule) ? schedule : lower(schedule, options);
  const std::vector<Violation> violations = validate(lowered, proof);
  if (!violations.empty()) return to_diagnostics(violations);
  return lowered;
}

}  // namespace chimera
