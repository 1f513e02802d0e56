#include "chimera/train/train.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <mutex>
#include <thread>

#include "chimera/comm/comm_error.h"
#include "chimera/exec/gather.h"
#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/schedule/forms.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/measure.h"
#include "chimera/trace/merge.h"
#include "chimera/train/checkpoint/catalog.h"
#include "chimera/train/checkpoint/recovery.h"
#include "chimera/train/collect.h"
#include "chimera/train/learning_rate.h"
#include "chimera/train/replicas.h"
#include "chimera/train/resume.h"
#include "chimera/train/run_schedule.h"

namespace chimera {
namespace {

// Keeps the messages of evaluations apart from those of training.
constexpr int kEvaluationOffset = 1 << 30;
// And those that bring everything to rank 0 (collect.h) from both.
constexpr int kPeaks = kEvaluationOffset - 10;
constexpr int kWeights = kEvaluationOffset - 11;
constexpr int kReplanned = kEvaluationOffset - 12;
// Of comparisons: one for each step, downwards.
constexpr int kReplicas = -(1 << 30);

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
        ranks_(num_ranks(setup.schedule)),
        start_(setup.start) {}

  TrainOutcome run();

 private:
  // What a rank keeps while it runs.
  struct RankState {
    bool evaluating = false;
    double evaluation_loss = 0;
    Clock::time_point last_vote;
    std::optional<BadStep> bad;
    bool stopped = false;
    bool wants_save = false;       // before it stops
    std::optional<Saving> saving;  // not if there is nothing to save
    std::unique_ptr<RankPrograms> programs;
    std::optional<TraceClock> clock;
    std::optional<StepReport> report;  // waits for its step's evaluation
  };

  void run_rank(const RankSite& site);
  [[nodiscard]] int run_steps(const RankSite& site, Worker& worker,
                              RankState& state);
  [[nodiscard]] Recovery recovery_without(int lost, int rank) const;
  void survive(const RankSite& site, Worker& worker, const RankState& state);
  [[nodiscard]] int wait_for_lost() const;
  void go_on_after(const std::string& reason);
  void add_to_ballot(RankState& state, Ballot& ballot) const;
  [[nodiscard]] bool is_saved(const RankState& state, int steps_done) const;
  [[nodiscard]] bool is_compared(const RankState& state, int steps_done) const;
  void note_outcome(const RankState& state, int rank, int steps);
  void evaluate(Worker& worker, const Program& program, RankState& state,
                int steps_done);
  void tell(RankState& state) const;
  void note_vote(RankState& state, int rank, const VoteResult& result);
  [[nodiscard]] StepReport report_of(RankState& state,
                                     const VoteResult& result) const;
  [[nodiscard]] int next_stop(const RankState& state, int step) const;
  // Whether an evaluation follows once so many steps are done.
  [[nodiscard]] bool is_evaluated(int steps_done) const;
  [[nodiscard]] int evaluation_steps() const;
  void run_ranks();
  [[nodiscard]] const std::string& run_dir() const {
    return site_.run_dir.empty() ? setup_.config.run.dir : site_.run_dir;
  }
  [[nodiscard]] int replan_step() const;
  [[nodiscard]] bool keeps_events() const;
  [[nodiscard]] Trace gather_trace(const Worker& worker, TraceClock& clock,
                                   const Schedule& schedule, int steps) const;
  [[nodiscard]] Schedule replan(Worker& worker, TraceClock& clock,
                                Transport& transport, RankState& state) const;
  [[nodiscard]] Schedule planned_for(const Costs& costs) const;
  void collect_rest(Worker& worker, const RankSite& site);

  const RunSetup& setup_;
  const TrainHooks& hooks_;
  const TrainSite& site_;
  int ranks_;
  StartPoint start_;
  std::optional<TorchComputeOptions> compute_;  // not if emulated
  TrainOutcome outcome_;  // written by rank 0, or the one rank that is here
  // Where ranks are threads, and one has failed.
  static constexpr int kNobody = -1;
  static constexpr int kAll = -2;  // nobody's weights can be relied upon
  std::atomic<int> lost_ = kNobody;
  std::mutex mutex_;
  std::optional<Recovered> recovered_;  // guarded by mutex_ while they run
  int last_recovery_ = -1;              // the step that it went on from
};

TrainOutcome Training::run() {
  for (bool done = false; !done;) {
    try {
      run_ranks();
      done = true;
    } catch (const std::exception& error) {
      go_on_after(error.what());
    }
  }
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
  if (!setup_.is_emulated()) {
    TorchComputeOptions options = compute_options(setup_, at::kFloat);
    options.init = start_.init;
    options.restored = start_.restored;
    options.sample_shift = start_.sample_shift;
    compute_.emplace(std::move(options));
  }
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
  if (compute_ && !run_dir().empty()) {
    state.saving.emplace(setup_, start_, run_dir(), site.transport,
                         hooks_.saves);
  }
  Worker worker(
      site.transport, site.compute,
      {.recorder = {.keep_events = keeps_events()},
       .on_vote = [&](const VoteResult& vote) { note_vote(state, rank, vote); },
       .on_ballot = [&](Ballot& ballot) { add_to_ballot(state, ballot); },
       .flight = hooks_.flight ? hooks_.flight(rank) : nullptr,
       .rank_names = site_.rank_names,
       .steps_before = start_.step});
  const bool is_later = setup_.later && start_.step >= replan_step();
  state.programs = std::make_unique<RankPrograms>(
      is_later ? *setup_.later : setup_.schedule, rank);
  try {
    if (keeps_events()) state.clock.emplace(site.transport);
    const int steps = run_steps(site, worker, state);
    if (state.saving) state.saving->finish();
    note_outcome(state, rank, steps);
    const Schedule& last = state.programs->schedule;
    if (setup_.config.run.trace) {
      Trace trace = gather_trace(worker, *state.clock, last, steps);
      if (rank == 0) {
        outcome_.trace = std::move(trace);
        outcome_.schedule = last;
      }
    }
    collect_rest(worker, site);
  } catch (const AbortedError&) {
    if (setup_.recovers && state.saving) survive(site, worker, state);
    throw;
  } catch (const ReplicaError&) {
    lost_ = kAll;
    throw;
  } catch (const std::exception&) {
    int before = kNobody;
    const bool is_first = lost_.compare_exchange_strong(before, rank);
    if (!is_first && before >= 0 && setup_.recovers && state.saving) {
      recovery_without(before, rank).renounce();
    }
    throw;
  }
}

// Returns the steps done.
int Training::run_steps(const RankSite& site, Worker& worker,
                        RankState& state) {
  const int steps = *setup_.config.train.steps;
  int step = start_.step;
  while (step < steps && !state.stopped) {
    step = worker.run(state.programs->training,
                      {.first = step, .end = next_stop(state, step)});
    if (is_evaluated(step) && !state.bad)
      evaluate(worker, state.programs->evaluation, state, step);
    tell(state);
    if (is_compared(state, step)) {
      compare_replicas(
          {*compute_, state.programs->training, step, kReplicas - step}, worker,
          site.transport);
      state.last_vote = Clock::now();
    }
    if (is_saved(state, step)) {
      state.saving->save({step, site.compute.updates()},
                         worker.state(state.programs->training));
    }
    const bool ends = step == steps || state.stopped || state.bad;
    if (step == replan_step() && !ends) {
      state.programs = std::make_unique<RankPrograms>(
          replan(worker, *state.clock, site.transport, state),
          site.transport.rank());
    }
  }
  return step;
}

Recovery Training::recovery_without(int lost, int rank) const {
  std::vector<int> survivors;
  for (int other = 0; other < ranks_; ++other) {
    if (other != lost) survivors.push_back(other);
  }
  return Recovery(
      {.run_dir = run_dir(),
       .rank = rank,
       .survivors = survivors,
       .keep = setup_.config.run.keep,
       .patience = std::chrono::duration<double>(setup_.config.run.timeout_s)});
}

// Another rank is lost: together the others save what all had agreed on.
void Training::survive(const RankSite& site, Worker& worker,
                       const RankState& state) {
  const int rank = site.transport.rank();
  const int lost = site_.lost ? site_.lost() : wait_for_lost();
  if (lost < 0 || lost == rank) return;
  const Recovery recovery = recovery_without(lost, rank);
  const Testimony best =
      recovery.agree({worker.votes_read(), worker.last_vote()});
  const Program& program = state.programs->training;
  worker.finish_updates(program, best.steps, best.vote);
  const std::string path = recovery.save(
      manifest_head(setup_, start_, {best.steps, site.compute.updates()}),
      worker.state(program, lost));
  const Recovered recovered{.rank = lost, .step = best.steps, .path = path};
  if (site_.own != nullptr) {
    if (hooks_.on_recovered) hooks_.on_recovered(recovered);
    return;
  }
  const std::lock_guard lock(mutex_);
  recovered_ = recovered;
}

// Of threads: it has woken the others before it could say so.
int Training::wait_for_lost() const {
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(10);
  while (lost_ == kNobody && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return lost_;
}

// In a catch block: all threads have ended, and if the others could save the
// run without the one that failed, all begin again from there. What fails again
// at the same step is thrown.
void Training::go_on_after(const std::string& reason) {
  if (!recovered_ || recovered_->step <= last_recovery_) throw;
  last_recovery_ = recovered_->step;
  recovered_->reason = reason;
  if (hooks_.on_recovered) hooks_.on_recovered(*recovered_);
  start_ = read_start(setup_, recovered_->path).value();
  tidy_checkpoints(run_dir(), {});
  recovered_.reset();
  lost_ = kNobody;
  outcome_ = {};
}

void Training::note_outcome(const RankState& state, int rank, int steps) {
  if (rank != 0 && site_.own == nullptr) return;
  outcome_.steps = steps;
  outcome_.bad = state.bad;
  outcome_.interrupted = state.stopped && !state.bad;
  outcome_.wants_save = state.wants_save && state.saving.has_value();
  if (rank != 0 || !state.saving) return;
  outcome_.has_unsaved = state.saving->has_failed();
  if (state.saving->saved_step() > 0) {
    outcome_.saved = state.saving->saved_step();
  }
}

void Training::add_to_ballot(RankState& state, Ballot& ballot) const {
  const Wish wish = hooks_.wish ? hooks_.wish() : Wish::kGoOn;
  if (wish != Wish::kGoOn) ballot.stop += 1;
  if (wish == Wish::kSaveAndEnd) ballot.save += 1;
  if (state.saving) state.saving->add_to(ballot);
}

// Whether a checkpoint follows once so many steps are done: also at the end, so
// that a run can be continued with more steps.
bool Training::is_saved(const RankState& state, int steps_done) const {
  if (!state.saving || state.bad) return false;
  if (state.stopped && state.wants_save) return true;
  const int every = setup_.config.run.save_every;
  return every > 0 && (steps_done % every == 0 || state.stopped ||
                       steps_done == *setup_.config.train.steps);
}

// Nothing is saved that has not been compared.
bool Training::is_compared(const RankState& state, int steps_done) const {
  if (!compute_ || state.bad) return false;
  const int every = setup_.config.run.check_every;
  return is_saved(state, steps_done) || (every > 0 && steps_done % every == 0);
}

// Training pauses for evaluations, comparisons, to save, and to plan again.
int Training::next_stop(const RankState& state, int step) const {
  int stop = *setup_.config.train.steps;
  if (state.saving) stop = std::min(stop, state.saving->next(step));
  const int every = setup_.config.train.eval_every;
  if (every > 0 && setup_.evaluation) {
    stop = std::min(stop, (step / every + 1) * every);
  }
  const int compare_every = setup_.config.run.check_every;
  if (compute_ && compare_every > 0) {
    stop = std::min(stop, (step / compare_every + 1) * compare_every);
  }
  return step < replan_step() ? std::min(stop, replan_step()) : stop;
}

// After so many steps of this run; but to repeat an earlier choice, when it was
// made.
int Training::replan_step() const {
  const int after = setup_.config.schedule.replan_after;
  if (after == 0) return 0;
  return setup_.later ? after : start_.step + after;
}

bool Training::keeps_events() const {
  return setup_.config.run.trace || setup_.config.schedule.replan_after > 0;
}

// Rank 0 plans with what all have measured, and tells all.
Schedule Training::replan(Worker& worker, TraceClock& clock,
                          Transport& transport, RankState& state) const {
  const int steps = replan_step();
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
  if (vote.save > 0) state.wants_save = true;
  if (state.saving) state.saving->note(vote);
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

void Training::collect_rest(Worker& worker, const RankSite& site) {
  Transport& transport = site.transport;
  const std::vector<std::vector<double>> peaks = gather_values(
      transport,
      std::vector<double>{worker.peak_activations(),
                          static_cast<double>(site.compute.peak_bytes())},
      kPeaks);
  std::vector<NamedTensor> weights;
  if (compute_)
    weights = collect_weights(*compute_, worker, transport, kWeights);
  if (transport.rank() != 0) return;
  for (const std::vector<double>& peak : peaks) {
    outcome_.peaks.push_back(peak[0]);
    outcome_.peak_bytes.push_back(peak[1]);
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
