#include "chimera/train/train.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/trace/merge.h"
#include "chimera/train/learning_rate.h"
#include "chimera/train/run_schedule.h"

namespace chimera {
namespace {

// Keeps the messages of evaluations apart from those of training.
constexpr int kEvaluationOffset = 1 << 30;

bool are_finite(const std::vector<NamedTensor>& weights) {
  return std::all_of(weights.begin(), weights.end(),
                     [](const NamedTensor& tensor) {
                       return at::isfinite(tensor.value).all().item<bool>();
                     });
}

class Training {
 public:
  Training(const RunSetup& setup, const TrainHooks& hooks)
      : setup_(setup),
        hooks_(hooks),
        ranks_(num_ranks(setup.schedule)),
        evaluation_(forward_only(setup.schedule)),
        events_(ranks_),
        stage_weights_(setup.schedule.stages()) {
    outcome_.peaks.resize(ranks_);
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
  void evaluate(Worker& worker, const Program& program, RankState& state);
  void tell(RankState& state) const;
  void note_vote(RankState& state, int rank, const VoteResult& result);
  [[nodiscard]] StepReport report_of(RankState& state,
                                     const VoteResult& result) const;
  [[nodiscard]] int next_stop(int step) const;
  // Whether an evaluation follows once so many steps are done.
  [[nodiscard]] bool is_evaluated(int steps_done) const;
  [[nodiscard]] int evaluation_steps() const;
  void keep_results(Worker& worker, const RankState& state, int rank, int step);
  void collect_weights();

  const RunSetup& setup_;
  const TrainHooks& hooks_;
  int ranks_;
  Schedule evaluation_;
  std::optional<TorchComputeOptions> compute_;
  Clock::time_point epoch_ = Clock::now();
  // Each rank writes its own element, read once all threads have ended.
  std::vector<std::vector<Event>> events_;
  std::vector<WeightsPtr> stage_weights_;
  TrainOutcome outcome_;
};

TrainOutcome Training::run() {
  LinkSpeed links;
  if (setup_.is_emulated()) {
    const Costs costs = emulated_costs(setup_.config, setup_.schedule);
    links = {.latency_s = costs.latency, .s_per_byte = costs.time_per_byte};
  }
  run_threads(
      {.ranks = ranks_,
       .deadline = std::chrono::duration<double>(setup_.config.run.timeout_s),
       .links = links},
      [this](int rank) {
        return setup_.is_emulated()
                   ? make_emulated(setup_.schedule, setup_.emulated)
                   : make_torch_compute(*compute_, rank);
      },
      [this](const RankSite& site) { run_rank(site); });
  if (setup_.config.run.trace) {
    outcome_.trace = merge_ranks(setup_.schedule, events_, outcome_.steps);
  }
  if (!setup_.is_emulated()) collect_weights();
  // An asynchronous run may break in the rounds that drain it, after its votes.
  if (!outcome_.bad && !are_finite(outcome_.weights)) {
    outcome_.bad = BadStep{.step = outcome_.steps};
  }
  return std::move(outcome_);
}

void Training::run_rank(const RankSite& site) {
  const int rank = site.transport.rank();
  RankState state{.last_vote = Clock::now()};
  Worker worker(
      site.transport, site.compute,
      {.recorder = {.keep_events = setup_.config.run.trace, .epoch = epoch_},
       .on_vote = [&](const VoteResult& vote) { note_vote(state, rank, vote); },
       .wants_stop = hooks_.wants_stop});
  const Program program(setup_.schedule, rank);
  const Program evaluation(evaluation_, rank);
  const int steps = *setup_.config.train.steps;
  int step = 0;
  while (step < steps && !state.stopped) {
    step = worker.run(program, {.first = step, .end = next_stop(step)});
    if (is_evaluated(step) && !state.bad) evaluate(worker, evaluation, state);
    tell(state);
  }
  keep_results(worker, state, rank, step);
}

// Training pauses for evaluations.
int Training::next_stop(int step) const {
  const int steps = *setup_.config.train.steps;
  const int every = setup_.config.train.eval_every;
  if (every == 0 || !setup_.evaluation) return steps;
  return std::min(steps, (step / every + 1) * every);
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
                        RankState& state) {
  state.evaluating = true;
  state.evaluation_loss = 0;
  const int batches = evaluation_steps();
  worker.run(program,
             {.end = batches, .training = false, .offset = kEvaluationOffset});
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

void Training::keep_results(Worker& worker, const RankState& state, int rank,
                            int step) {
  events_[rank] = worker.recorder().events();
  outcome_.peaks[rank] = worker.peak_activations();
  const RankPlace place = place_of(setup_.schedule, rank);
  const Placement& placement = setup_.schedule.placement;
  for (int stage = 0; stage < placement.stages(); ++stage) {
    // The first pipe of the first copy speaks for all replicas.
    if (place.copy == 0 && placement.worker(0, stage) == place.worker) {
      stage_weights_[stage] = worker.weights(stage);
    }
  }
  if (rank != 0) return;
  outcome_.steps = step;
  outcome_.bad = state.bad;
  outcome_.interrupted = state.stopped && !state.bad;
}

void Training::collect_weights() {
  for (int stage = 0; stage < setup_.schedule.stages(); ++stage) {
    for (NamedTensor& tensor :
         named_weights(*compute_, stage, *stage_weights_[stage])) {
      const bool listed = std::any_of(
          outcome_.weights.begin(), outcome_.weights.end(),
          [&](const NamedTensor& other) { return other.name == tensor.name; });
      if (!listed) outcome_.weights.push_back(std::move(tensor));
    }
  }
  if (!outcome_.bad) adopt_weights(setup_.model, outcome_.weights);
}

}  // namespace

TrainOutcome train(const RunSetup& setup, const TrainHooks& hooks) {
  return Training(setup, hooks).run();
}

}  // namespace chimera
