#include "chimera/train/train.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>

#include "chimera/exec/gather.h"
#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/schedule/forms.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/measure.h"
#include "chimera/trace/merge.h"
#include "chimera/train/collect.h"
#include "chimera/train/learning_rate.h"
#include "chimera/train/run_schedule.h"

namespace chimera {
namespace {

// Keeps the messages of evaluations apart from those of training.
constexpr int kEvaluationOffset = 1 << 30;
// And those that bring everything to rank 0 (collect.h) from both.
constexpr int kPeaks = kEvaluationOffset - 10;
constexpr int kWeights = kEvaluationOffset - 11;
constexpr int kReplanned = kEvaluationOffset - 12;

bool are_finite(const std::vector<NamedTensor>& weights) {
  return std::all_of(weights.begin(), weights.end(),
                     [](const NamedTensor& tensor) {
                       return at::isfinite(tensor.value).all().item<bool>();
                     });
}

// What a rank runs: the schedule, and its forwards for evaluations.
struct RankPrograms {
  RankPrograms(Schedule lowered, int rank)
      : schedule(std::move(lowered)),
        forwards(forward_only(schedule)),
        training(schedule, rank),
        evaluation(forwards, rank) {}

  Schedule schedule;
  Schedule forwards;
  Program training;
  Program evaluation;
};

class Training {
 public:
  Training(const RunSetup& setup, const TrainHooks& hooks,
           const TrainSite& site)
      : setup_(setup),
        hooks_(hooks),
        site_(site),
        ranks_(num_ranks(setup.schedule)) {
    if (!setup.is_emulated()) {
      compute_.emplace(compute_options(setup, at::kFloat));
    }
  }

  TrainOutcome run();

 private:
  // What a rank keeps while it runs.
  struct RankState {
    bool evaluating = false;
    double evaluation_loss = 0;
    Clock::time_point last_vote;
    std::optional<BadStep> bad;
    bool stopped = false;
    std::optional<StepReport> report;  // waits for its step's evaluation
  };

  void run_rank(const RankSite& site);
  void evaluate(Worker& worker, const Program& program, RankState& state,
                int steps_done);
  void tell(RankState& state) const;
  void note_vote(RankState& state, int rank, const VoteResult& result);
  [[nodiscard]] StepReport report_of(RankState& state,
                                     const VoteResult& result) const;
  [[nodiscard]] int next_stop(int step) const;
  // Whether an evaluation follows once so many steps are done.
  [[nodiscard]] bool is_evaluated(int steps_done) const;
  [[nodiscard]] int evaluation_steps() const;
  void run_ranks();
  [[nodiscard]] bool keeps_events() const;
  [[nodiscard]] Trace gather_trace(const Worker& worker, TraceClock& clock,
                                   const Schedule& schedule, int steps) const;
  [[nodiscard]] Schedule replan(Worker& worker, TraceClock& clock,
                                Transport& transport, RankState& state) const;
  [[nodiscard]] Schedule planned_for(const Costs& costs) const;
  void collect_rest(Worker& worker, Transport& transport);

  const RunSetup& setup_;
  const TrainHooks& hooks_;
  const TrainSite& site_;
  int ranks_;
  std::optional<TorchComputeOptions> compute_;
  TrainOutcome outcome_;  // written by rank 0, or the one rank that is here
};

TrainOutcome Training::run() {
  run_ranks();
  // An asynchronous run may break in the rounds that drain it, after its votes.
  if (!outcome_.bad && !are_finite(outcome_.weights)) {
    outcome_.bad = BadStep{.step = outcome_.steps};
  }
  if (!outcome_.bad && !outcome_.weights.empty()) {
    adopt_weights(setup_.model, outcome_.weights);
  }
  return std::move(outcome_);
}

void Training::run_ranks() {
  const auto make = [this](int rank) {
    return setup_.is_emulated()
               ? make_emulated(setup_.schedule, setup_.emulated)
               : make_torch_compute(*compute_, rank);
  };
  if (site_.own == nullptr) {
    return run_threads(
        {.ranks = ranks_,
         .deadline = std::chrono::duration<double>(setup_.config.run.timeout_s),
         .links = link_speed(setup_)},
        make, [this](const RankSite& site) { run_rank(site); });
  }
  std::unique_ptr<StageCompute> compute;
  try {
    compute = make(site_.own->rank());
    run_rank({*site_.own, *compute});
  } catch (const std::exception& error) {
    site_.own->abort(error.what());
    throw;
  }
}

void Training::run_rank(const RankSite& site) {
  const int rank = site.transport.rank();
  RankState state{.last_vote = Clock::now()};
  Worker worker(
      site.transport, site.compute,
      {.recorder = {.keep_events = keeps_events()},
       .on_vote = [&](const VoteResult& vote) { note_vote(state, rank, vote); },
       .wants_stop = hooks_.wants_stop,
       .flight = hooks_.flight ? hooks_.flight(rank) : nullptr,
       .rank_names = site_.rank_names});
  std::optional<TraceClock> clock;
  if (keeps_events()) clock.emplace(site.transport);
  auto programs = std::make_unique<RankPrograms>(setup_.schedule, rank);
  const int steps = *setup_.config.train.steps;
  int step = 0;
  while (step < steps && !state.stopped) {
    step =
        worker.run(programs->training, {.first = step, .end = next_stop(step)});
    if (is_evaluated(step) && !state.bad)
      evaluate(worker, programs->evaluation, state, step);
    tell(state);
    const bool ends = step == steps || state.stopped || state.bad;
    if (step == setup_.config.schedule.replan_after && !ends) {
      programs = std::make_unique<RankPrograms>(
          replan(worker, *clock, site.transport, state), rank);
    }
  }
  if (rank == 0 || site_.own != nullptr) {
    outcome_.steps = step;
    outcome_.bad = state.bad;
    outcome_.interrupted = state.stopped && !state.bad;
  }
  if (setup_.config.run.trace) {
    Trace trace = gather_trace(worker, *clock, programs->schedule, step);
    if (rank == 0) {
      outcome_.trace = std::move(trace);
      outcome_.schedule = programs->schedule;
    }
  }
  collect_rest(worker, site.transport);
}

// Training pauses for evaluations, and to plan again.
int Training::next_stop(int step) const {
  int stop = *setup_.config.train.steps;
  const int every = setup_.config.train.eval_every;
  if (every > 0 && setup_.evaluation) {
    stop = std::min(stop, (step / every + 1) * every);
  }
  const int replan_after = setup_.config.schedule.replan_after;
  return step < replan_after ? std::min(stop, replan_after) : stop;
}

bool Training::keeps_events() const {
  return setup_.config.run.trace || setup_.config.schedule.replan_after > 0;
}

// Rank 0 plans with what all have measured, and tells all.
Schedule Training::replan(Worker& worker, TraceClock& clock,
                          Transport& transport, RankState& state) const {
  const int steps = setup_.config.schedule.replan_after;
  const Trace trace = gather_trace(worker, clock, setup_.schedule, steps);
  worker.recorder().forget(/*keep=*/setup_.config.run.trace);
  Replanned next{.step = steps, .is_repeated = setup_.later.has_value()};
  std::future<std::string> text;
  if (transport.rank() == 0) {
    text = std::async(std::launch::async, [&] {
      const Costs costs = measured_costs(setup_.schedule, trace);
      next.lowered = setup_.later ? *setup_.later : planned_for(costs);
      next.before_s = simulate(setup_.schedule, costs, {.steps = 5}).period;
      next.after_s = simulate(next.lowered, costs, {.steps = 5}).period;
      return to_sched(next.lowered);
    });
  }
  const auto patience =
      std::chrono::duration<double>(setup_.config.run.timeout_s) / 4;
  const std::string order =
      spread_text(transport, std::move(text), patience, kReplanned);
  if (transport.rank() == 0 && hooks_.on_replan) hooks_.on_replan(next);
  state.last_vote = Clock::now();
  return parse_schedule(order, "the planned order").value();
}

Schedule Training::planned_for(const Costs& costs) const {
  return make_replanned_schedule(setup_.config, {.tied = setup_.tied,
                                                 .costs = &costs,
                                                 .running = &setup_.schedule})
      .value();
}

int Training::evaluation_steps() const {
  return static_cast<int>(std::max<std::int64_t>(
      1, setup_.evaluation->num_samples() / setup_.global_batch()));
}

bool Training::is_evaluated(int steps_done) const {
  const int every = setup_.config.train.eval_every;
  return every > 0 && setup_.evaluation &&
         (steps_done % every == 0 || steps_done == *setup_.config.train.steps);
}

void Training::evaluate(Worker& worker, const Program& program,
                        RankState& state, int steps_done) {
  state.evaluating = true;
  state.evaluation_loss = 0;
  const int batches = evaluation_steps();
  worker.run(program, {.end = batches,
                       .training = false,
                       .offset = kEvaluationOffset,
                       .after = steps_done});
  state.evaluating = false;
  state.last_vote = Clock::now();
  if (state.report) {
    state.report->evaluation_loss = state.evaluation_loss / batches;
  }
}

void Training::tell(RankState& state) const {
  if (state.report && hooks_.on_step) hooks_.on_step(*state.report);
  state.report.reset();
}

void Training::note_vote(RankState& state, int rank, const VoteResult& result) {
  const Ballot& vote = result.ballot;
  if (state.evaluating) {
    state.evaluation_loss += vote.loss;
    return;
  }
  const bool bad = is_bad(vote);
  if (bad && setup_.config.train.on_nan == OnNan::kStop && !state.bad) {
    state.bad = BadStep{.step = result.step + 1};
    if (vote.bad_at != Ballot::kNowhere) {
      state.bad->place = bad_place(vote.bad_at, setup_.schedule);
    }
  }
  if (vote.stop > 0) state.stopped = true;
  if (rank != 0) return;
  StepReport report = report_of(state, result);
  report.skipped = bad && setup_.config.train.on_nan == OnNan::kSkip;
  state.report = report;
  if (!is_evaluated(report.step)) tell(state);
}

StepReport Training::report_of(RankState& state,
                               const VoteResult& result) const {
  const double step_s =
      std::chrono::duration<double>(result.started - state.last_vote).count();
  state.last_vote = result.started;
  const double busy = result.ballot.busy_s / (ranks_ * step_s);
  StepReport report{.step = result.step + 1,
                    .loss = result.ballot.loss,
                    .grad_norm = std::sqrt(result.ballot.squared_norm),
                    .step_s = step_s,
                    .bubble = std::max(0.0, 1 - busy)};
  if (setup_.is_emulated()) return report;
  report.lr = learning_rate(setup_.config.train, result.step);
  report.tokens = setup_.global_batch() * setup_.model.details.shape.seq;
  report.tokens_per_s = static_cast<double>(report.tokens) / step_s;
  return report;
}

// Empty but on rank 0. REQUIRES: all kept events are of `schedule`.
Trace Training::gather_trace(const Worker& worker, TraceClock& clock,
                             const Schedule& schedule, int steps) const {
  std::vector<std::vector<Event>> events =
      clock.gather(worker.recorder().events());
  if (events.empty()) return {};
  double first = std::numeric_limits<double>::infinity();
  for (const std::vector<Event>& of_rank : events) {
    for (const Event& event : of_rank) first = std::min(first, event.start);
  }
  for (std::vector<Event>& of_rank : events) {
    for (Event& event : of_rank) {
      event.start -= first;
      event.end -= first;
    }
  }
  return merge_ranks(schedule, events, steps);
}

void Training::collect_rest(Worker& worker, Transport& transport) {
  const std::vector<std::vector<double>> peaks = gather_values(
      transport, std::vector<double>{worker.peak_activations()}, kPeaks);
  std::vector<NamedTensor> weights;
  if (compute_)
    weights = collect_weights(*compute_, worker, transport, kWeights);
  if (transport.rank() != 0) return;
  for (const std::vector<double>& peak : peaks) {
    outcome_.peaks.push_back(peak[0]);
  }
  outcome_.weights = std::move(weights);
}

}  // namespace

TrainOutcome train(const RunSetup& setup, const TrainHooks& hooks,
                   const TrainSite& site) {
  return Training(setup, hooks, site).run();
}

LinkSpeed link_speed(const RunSetup& setup) {
  if (!setup.is_emulated()) return {};
  const Costs costs = emulated_costs(setup.config, setup.schedule);
  return {.latency_s = costs.latency, .s_per_byte = costs.time_per_byte};
}

}  // namespace chimera
