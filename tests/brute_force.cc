// Runs every worker's list as far as it goes, and reports the end.
#include "tests/brute_force.h"

#include <algorithm>
#include <utility>

#include "tests/brute_force_machine.h"

namespace chimera::testing {
namespace brute_force {

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

// Unrolls the lists: round r runs an action for step r + offset, if that step
// exists.
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

Execution Machine::report() {
  Execution result;
  for (const Worker& me : workers_) {
    if (me.next < me.tasks.size()) {
      const Task& t = me.tasks[me.next];
      result.waiting.push_back(describe(t.worker, t.step, t.a));
    }
    result.makespan = std::max(result.makespan, me.clock);
    result.peak.push_back(me.peak * schedule_.depth / schedule_.stages());
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

namespace {

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
