// A worker is woken when something that it waits for may be known, and then
// runs its list until it computes, waits or is done. To wait, step() returns
// false. The worker is then noted where the awaited time will be set, or stands
// in the queue, and the same action is tried again when it wakes. An action
// therefore has no effect before it succeeds.
#include "chimera/simulate/simulator.h"

#include <algorithm>
#include <cmath>

#include "chimera/base/check.h"
#include "chimera/schedule/held.h"
#include "chimera/simulate/bound.h"
#include "chimera/simulate/period_bound.h"

namespace chimera::simulating {

Simulator::Simulator(const Schedule& schedule, const Costs& costs,
                     const SimulateOptions& options)
    : schedule_(schedule),
      costs_(costs),
      options_(options),
      index_(schedule),
      queue_(options.cores, schedule.width, options.contention),
      jitter_(options.jitter, options.play),
      rounds_(options.steps + closing_rounds(schedule)),
      workers_(schedule.workers()),
      messages_(index_.size() * options.steps),
      votes_(options.steps),
      groups_of_(schedule.stages()),
      tied_stage_(schedule.workers(), kNone),
      card_free_at_(schedule.workers(), 0.0),
      recomputed_(index_.cells(), false),
      parts_done_(index_.cells() * options.steps) {
  CHIMERA_CHECK_EQ(static_cast<int>(costs.stages.size()), schedule.stages());
  CHIMERA_CHECK(is_lowered(schedule), "only a lowered schedule can run");
  for (Vote& vote : votes_) {
    vote.missing = schedule.workers();
    vote.started.resize(schedule.workers());
  }
  for (const StageCosts& stage : costs.stages) {
    deferred_.push_back(deferred_parts(stage.omega));
  }
  note_lists();
  count_members();
  result_.trace.workers = schedule.workers();
  result_.trace.pipes = schedule.pipes();
  result_.trace.steps = options.steps;
  result_.trace.events.reserve(num_actions(schedule) * options.steps);
  result_.workers.resize(schedule.workers());
}

void Simulator::note_lists() {
  for (const ActionList& list : schedule_.actions) {
    const auto vote =
        std::find_if(list.begin(), list.end(),
                     [](const Action& action) { return action.op == Op::kN; });
    vote_position_.push_back(static_cast<int>(vote - list.begin()));
    is_vote_late_ = has_late_vote(list);
    for (const Action& action : list) {
      if (action.op == Op::kR && holds_from_recompute(schedule_)) {
        recomputed_[index_.cell(action.stage, action.micro)] = true;
      }
      if (action.op == Op::kG && action.micro != kNone) {
        sums_per_group_ = schedule_.micros;
      }
    }
  }
}

void Simulator::count_members() {
  sums_.resize(schedule_.groups.size() * sums_per_group_ * options_.steps);
  for (const SumGroup& group : schedule_.groups) {
    std::vector<int> stages;
    std::vector<int> workers;
    for (const Member& member : group.members) {
      stages.push_back(member.stage);
      workers.push_back(schedule_.placement.worker(member.pipe, member.stage));
    }
    for (auto* numbers : {&stages, &workers}) {
      std::sort(numbers->begin(), numbers->end());
      numbers->erase(std::unique(numbers->begin(), numbers->end()),
                     numbers->end());
    }
    for (const int stage : stages) groups_of_[stage].push_back(group.id);
    if (stages.size() > 1) note_tied(group);
    holders_.push_back(std::move(workers));
    sum_times_.push_back(sum_time(costs_, schedule_, group));
    card_times_.push_back(card_time(costs_, schedule_, group));
    for (int at = 0; at < options_.steps; ++at) {
      for (size_t micro = 0; micro < sums_per_group_; ++micro) {
        sums_[sum_index(group.id, static_cast<int>(micro), at)].missing =
            static_cast<int>(holders_.back().size());
      }
    }
  }
}

// A worker that holds both ends updates the tied weight with the first stage.
void Simulator::note_tied(const SumGroup& group) {
  for (const Member& member : group.members) {
    const int worker = schedule_.placement.worker(member.pipe, member.stage);
    int& stage = tied_stage_[worker];
    stage = stage == kNone ? member.stage : std::min(stage, member.stage);
  }
}

Simulation Simulator::run() {
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    queue_.wake_at(0, worker);
  }
  while (!queue_.empty()) advance(queue_.pop());
  for (const WorkerState& worker : workers_) {
    CHIMERA_CHECK_EQ(worker.round, rounds_);
  }
  summarise();
  return std::move(result_);
}

void Simulator::advance(int worker) {
  WorkerState& state = workers_[worker];
  const ActionList& list = schedule_.actions[worker];
  if (state.computing) finish(worker);
  while (state.round < rounds_) {
    if (state.position == static_cast<int>(list.size())) {
      ++state.round;
      state.position = 0;
      continue;
    }
    const Action& action = list[state.position];
    const int at = state.round + action.step;
    // Belongs to no simulated step: the pipeline fills or drains.
    const bool skipped = at < 0 || at >= options_.steps;
    if (!skipped && !step(worker, action, at)) return;
    ++state.position;
    if (state.computing) return;
  }
}

bool Simulator::step(int worker, const Action& action, int step) {
  if (is_compute(action.op)) return compute(worker, action, step);
  if (is_send(action.op)) send(worker, action, step);
  if (action.op != Op::kG && !is_vote(action.op)) return true;
  if (!has_sent(worker)) return false;
  if (action.op == Op::kN) return start_vote(worker, action, step);
  if (action.op == Op::kV) return read_vote(worker, step);
  start_sum(worker, action, step);
  return true;
}

bool Simulator::compute(int worker, const Action& action, int step) {
  const WorkerState& state = workers_[worker];
  Ready ready{state.free_at, state.last_event};
  const bool known = action.op == Op::kU
                         ? update_ready(worker, action, step, ready)
                         : input_ready(worker, action, step, ready);
  if (!known) return false;
  if (ready.at > queue_.now()) {
    queue_.wake_at(ready.at, worker);
    return false;
  }
  begin(worker, action, step, ready);
  return true;
}

bool Simulator::update_ready(int worker, const Action& action, int step,
                             Ready& ready) {
  for (const int group : groups_of_[action.stage]) {
    Arrival& sum = sums_[sum_index(group, action.micro, step)].done;
    if (!wait_for(sum, worker)) return false;
    ready.after(sum.at, sum.event);
  }
  // An update waits for the vote only if N stands before it and there is no V,
  // which would wait instead.
  if (is_vote_late_) return true;
  if (vote_position_[worker] > workers_[worker].position) return true;
  Vote& vote = votes_[step];
  if (!wait_for(vote.done, worker)) return false;
  ready.after(vote.done.at, vote.done.event);
  return true;
}

bool Simulator::input_ready(int worker, const Action& action, int step,
                            Ready& ready) {
  const size_t needed = index_.needed_by(action);
  if (needed == MicroIndex::kNothing) return true;
  const int source = action.op == Op::kF ? action.stage - 1 : action.stage + 1;
  // The worker's own list has produced the input already.
  if (schedule_.placement.worker(action.pipe, source) == worker) return true;
  MessageArrival& message = messages_[made_index(needed, step)];
  if (message.at < 0) {
    message.waiting = worker;
    return false;
  }
  ready.after(message.at, message.event);
  return true;
}

std::int32_t Simulator::record(const Action& action, int worker, int step,
                               const Ready& ready, double end) {
  result_.trace.events.push_back({.action = action,
                                  .worker = worker,
                                  .step = step,
                                  .start = ready.at,
                                  .end = end,
                                  .cause = ready.cause});
  return static_cast<std::int32_t>(result_.trace.events.size()) - 1;
}

void Simulator::begin(int worker, const Action& action, int step,
                      const Ready& ready) {
  WorkerState& state = workers_[worker];
  const double now = queue_.now();
  state.last_event = record(action, worker, step, {now, ready.cause}, now);
  if (!state.has_computed) result_.workers[worker].first = now;
  state.has_computed = true;
  if (action.op == Op::kF || action.op == Op::kR) {
    const size_t cell = index_.cell(action.stage, action.micro);
    // An activation is held from its F, or from its R where the schedule counts
    // recomputed ones from there.
    if (recomputed_[cell] == (action.op == Op::kR)) {
      state.held += kActivationParts;
    }
    state.peak = std::max(state.peak, state.held);
  }
  double work = compute_time(costs_, action, schedule_.parts);
  if (action.op == Op::kU && action.stage == tied_stage_[worker]) {
    work += costs_.tied_update;
  }
  state.computing = true;
  if (work > 0) {
    queue_.compute(work * jitter_.factor(action, step), worker);
  } else {
    finish(worker);
  }
}

void Simulator::finish(int worker) {
  WorkerState& state = workers_[worker];
  Event& event = result_.trace.events[state.last_event];
  state.computing = false;
  state.free_at = queue_.now();
  event.end = queue_.now();
  result_.workers[worker].busy += event.end - event.start;
  result_.workers[worker].last = queue_.now();
  if (is_backward(event.action.op)) free_held(worker, event.action, event.step);
}

// Frees the memory of a micro-batch: after its last input gradient all but what
// the weight gradient needs, after its last weight gradient the rest.
void Simulator::free_held(int worker, const Action& action, int step) {
  const size_t cell = index_.cell(action.stage, action.micro);
  PartsDone& done = parts_done_[step * index_.cells() + cell];
  std::int64_t& held = workers_[worker].held;
  const std::int64_t deferred = deferred_[action.stage];
  if (gives_gradient(action.op) && ++done.input_grad == schedule_.parts) {
    held -= kActivationParts - deferred;
  }
  if (gives_weight_gradient(action.op) &&
      ++done.weight_grad == schedule_.parts) {
    held -= deferred;
  }
}

double Simulator::window() const {
  double begin = 0;
  for (const Event& event : result_.trace.events) {
    if (event.worker != 0) continue;
    if (event.action.op == Op::kF) begin = event.start;
    if (is_backward(event.action.op)) break;
  }
  return result_.makespan - begin;
}

void Simulator::summarise() {
  std::vector<double>& ends = result_.step_ends;
  ends.resize(options_.steps);
  for (const Event& event : result_.trace.events) {
    if (event.action.op == Op::kN) continue;
    ends[event.step] = std::max(ends[event.step], event.end);
  }
  // Rounds after the last forwards only drain the pipeline. Steps that end in
  // them are shorter, so they do not count.
  const int drained = rounds_ - options_.steps;
  if (options_.steps > 2) ends.resize(std::max(2, options_.steps - drained));
  result_.makespan = makespan(result_.trace);
  result_.period = options_.steps == 1 ? result_.makespan
                                       : ends.back() - ends[ends.size() - 2];
  double busy = 0;
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    WorkerStats& stats = result_.workers[worker];
    stats.peak_activations = static_cast<double>(workers_[worker].peak) /
                             static_cast<double>(kActivationParts) /
                             schedule_.chunks();
    busy += stats.busy;
    result_.ideal = std::max(result_.ideal, stats.busy);
  }
  result_.bound = lower_bound(
      schedule_, costs_,
      {.steps = options_.steps, .cores = options_.cores, .cap = options_.cap});
  if (options_.steps > 1) {
    result_.period_bound = period_bound(
        schedule_, costs_, {.cores = options_.cores, .cap = options_.cap});
  }
  if (is_asynchronous(schedule_)) result_.window = window();
  if (result_.makespan > 0) {
    // Rounding errors of many additions must not make the ratio negative.
    const double all = schedule_.workers() * result_.makespan;
    result_.bubble_ratio = std::max(0.0, 1 - busy / all);
  }
  result_.critical_path = critical_path(result_.trace);
}

}  // namespace chimera::simulating

namespace chimera {

Simulation simulate(const Schedule& schedule, const Costs& costs,
                    const SimulateOptions& options) {
  return simulating::Simulator(schedule, costs, options).run();
}

}  // namespace chimera
