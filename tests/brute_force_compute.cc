// F, R, B, I and W: the values they take and leave, the weights they use, the
// time they occupy their worker and the activations they hold.
#include <algorithm>

#include "tests/brute_force_machine.h"

namespace chimera::testing::brute_force {
namespace {

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

}  // namespace

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
  }
  if (is_backward(t.a.op)) release(t);
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
  const double latency =
      is_in_node(worker, to) ? costs_.node->latency : costs_.latency;
  put(to, name, {made.time + latency, made.version});
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
  if (starts) me.peak = std::max(me.peak, me.held += 1);
}

void Machine::release(const Task& t) {
  Worker& me = workers_[t.worker];
  const Name saved = name_of(t, What::kSaved);
  const double omega = costs_.stages[t.a.stage].omega;
  if (t.a.op != Op::kW && ++me.inputs_done[saved] == schedule_.parts) {
    me.held -= 1 - omega;
  }
  if (t.a.op != Op::kI && ++me.parts_done[saved] == schedule_.parts) {
    me.held -= omega;
  }
}

}  // namespace chimera::testing::brute_force
