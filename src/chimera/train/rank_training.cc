// A rank alternates between stretches of steps (Worker::run), in which it never
// pauses, and what needs settled weights: an evaluation, a comparison of the
// replicas, a save, a change of the order. All ranks derive the end of a
// stretch from the same configuration and the same votes, so they need no
// message to agree on it.
#include "chimera/train/rank_training.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>

#include "chimera/comm/exchange.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/schedule/forms.h"
#include "chimera/search/judge.h"
#include "chimera/trace/measure.h"
#include "chimera/trace/merge.h"
#include "chimera/train/learning_rate.h"
#include "chimera/train/replicas.h"

namespace chimera {

// The programs of a rank: the training schedule, and its forwards for
// evaluations.
struct RankTraining::Programs {
  Programs(Schedule lowered, int rank)
      : schedule(std::move(lowered)),
        forwards(forward_only(schedule)),
        training(schedule, rank),
        evaluation(forwards, rank) {}

  Schedule schedule;
  Schedule forwards;
  Program training;
  Program evaluation;
};

RankTraining::RankTraining(const Options& options, Transport& transport,
                           StageCompute& compute)
    : setup_(options.setup),
      observer_(options.observer),
      start_(options.start),
      options_(options.options),
      is_process_(options.is_process),
      transport_(transport),
      compute_(compute),
      rank_(transport.rank()),
      worker_(transport_, compute_,
              {.recorder = {.keep_events = keeps_events()},
               .on_vote = [this](const VoteResult& vote) { note_vote(vote); },
               .on_ballot = [this](Ballot& ballot) { add_to_ballot(ballot); },
               .flight = observer_.flight(rank_),
               .rank_names = setup_.rank_names,
               .steps_before = start_.step}),
      last_vote_(Clock::now()) {
  if (options_ != nullptr && !setup_.config.run.dir.empty()) {
    saving_.emplace(setup_, start_, transport_, observer_);
  }
  // A run that resumes after its change of order starts with the later one.
  const bool is_later = setup_.later && start_.step >= replan_step();
  programs_ = std::make_unique<Programs>(
      is_later ? *setup_.later : setup_.schedule, rank_);
  if (!saving_) return;
  std::int64_t bytes = 0;
  for (const int stage : programs_->training.stages()) {
    bytes += compute_.state_bytes(stage);
  }
  saving_->prepare(bytes);
}

RankTraining::~RankTraining() = default;

void RankTraining::run(TrainOutcome& outcome) {
  if (keeps_events()) clock_.emplace(transport_);
  const int steps = run_steps();
  // Closes the last save here, because no later vote can close it.
  if (saving_) saving_->finish();
  note_outcome(steps, outcome);
  if (setup_.config.run.trace) {
    Trace trace = gather_trace(programs_->schedule, steps);
    if (rank_ == 0) {
      outcome.trace = std::move(trace);
      outcome.schedule = programs_->schedule;
    }
  }
  collect_rest(outcome);
}

Recovery RankTraining::recovery_without(int lost) const {
  return Recovery(
      {.run_dir = setup_.config.run.dir,
       .rank = rank_,
       .survivors = all_but(lost, transport_.size()),
       .keep = setup_.config.run.keep,
       .patience = std::chrono::duration<double>(setup_.config.run.timeout_s)});
}

void RankTraining::withdraw(int lost) const {
  if (saving_ && lost >= 0) recovery_without(lost).withdraw();
}

std::optional<Recovered> RankTraining::survive(int lost) {
  if (!saving_ || lost < 0 || lost == rank_) return std::nullopt;
  const Recovery recovery = recovery_without(lost);
  // All survivors go to the same step: that of the rank that has read the most
  // votes. A rank that is behind has its sums already and needs only the vote.
  const SurvivorReport best =
      recovery.agree({worker_.votes_read(), worker_.last_vote()});
  const Program& program = programs_->training;
  worker_.finish_updates(program, best.steps, best.vote);
  const std::string path = recovery.save(
      manifest_head(setup_, start_, {best.steps, compute_.updates()}),
      worker_.state(program, lost));
  // Reports the saved step if this rank had not read its vote, or not finished
  // its evaluation: nobody runs the step again.
  if (best.steps > worker_.votes_read()) {
    note_report({best.steps - 1, best.vote, worker_.vote_started()});
  }
  tell();
  return Recovered{.rank = lost, .step = best.steps, .path = path};
}

void RankTraining::note_outcome(int steps, TrainOutcome& outcome) const {
  if (rank_ != 0 && !is_process_) return;
  outcome.steps = steps;
  outcome.bad = bad_;
  outcome.interrupted = stopped_ && !bad_;
  outcome.wants_save = wants_save_ && saving_.has_value();
  if (rank_ != 0 || !saving_) return;
  outcome.has_unsaved = saving_->has_failed();
  if (saving_->saved_step() > 0) outcome.saved = saving_->saved_step();
}

// Runs until the last step or an early end. Returns the number of steps done.
int RankTraining::run_steps() {
  const int steps = *setup_.config.train.steps;
  int step = start_.step;
  while (step < steps && !stopped_) {
    step = worker_.run(programs_->training,
                       {.first = step, .end = next_stop(step)});
    // A run that was asked to end skips the evaluation: SLURM kills it after
    // half a minute.
    if (is_evaluated(step) && !bad_ && !stopped_) evaluate(step);
    tell();
    // Before the save, so that no checkpoint holds replicas that have drifted
    // apart.
    if (is_compared(step)) {
      compare_replicas({*options_, programs_->training, step}, worker_,
                       transport_);
      last_vote_ = Clock::now();
    }
    if (is_saved(step)) {
      saving_->save({step, compute_.updates()},
                    worker_.state(programs_->training));
    }
    const bool ends = step == steps || stopped_ || bad_;
    if (step == replan_step() && !ends) {
      programs_ = std::make_unique<Programs>(replan(), rank_);
    }
  }
  return step;
}

void RankTraining::add_to_ballot(Ballot& ballot) {
  // The ballots are added up: one rank that wants to stop is enough for all.
  const Wish wish = observer_.wish();
  if (wish != Wish::kGoOn) ballot.stop += 1;
  if (wish == Wish::kSaveAndEnd) ballot.save += 1;
  if (saving_) saving_->add_to(ballot);
}

// Whether a checkpoint follows `steps_done`. The last step is always saved, so
// that a run can be continued with more steps.
bool RankTraining::is_saved(int steps_done) const {
  if (!saving_ || bad_) return false;
  if (stopped_ && wants_save_) return true;
  const int every = setup_.config.run.save_every;
  return every > 0 && (steps_done % every == 0 || stopped_ ||
                       steps_done == *setup_.config.train.steps);
}

// Replicas are always compared before a save.
bool RankTraining::is_compared(int steps_done) const {
  if (options_ == nullptr || bad_) return false;
  const int every = setup_.config.run.check_every;
  return is_saved(steps_done) || (every > 0 && steps_done % every == 0);
}

// Returns the next step at which training pauses: to evaluate, to compare
// replicas, to save or to replan.
int RankTraining::next_stop(int step) const {
  int stop = *setup_.config.train.steps;
  if (saving_) stop = std::min(stop, saving_->next(step));
  const int every = setup_.config.train.eval_every;
  if (every > 0 && setup_.evaluation) {
    stop = std::min(stop, (step / every + 1) * every);
  }
  const int compare_every = setup_.config.run.check_every;
  if (options_ != nullptr && compare_every > 0) {
    stop = std::min(stop, (step / compare_every + 1) * compare_every);
  }
  return step < replan_step() ? std::min(stop, replan_step()) : stop;
}

// The step after which the order changes: replan_after steps from the start of
// this run or, if schedule.file repeats an earlier choice, the step of that
// choice.
int RankTraining::replan_step() const {
  const int after = setup_.config.schedule.replan_after;
  if (after == 0) return 0;
  return setup_.later ? after : start_.step + after;
}

bool RankTraining::keeps_events() const {
  return setup_.config.run.trace || setup_.config.schedule.replan_after > 0;
}

// Rank 0 plans from the measurements of all ranks and sends the new order to
// all.
Schedule RankTraining::replan() {
  const int steps = replan_step();
  const Trace trace = gather_trace(setup_.schedule, steps);
  worker_.recorder().forget(/*keeps_events=*/setup_.config.run.trace);
  Replanned next{.step = steps, .is_repeated = setup_.later.has_value()};
  std::future<std::string> text;
  if (transport_.rank() == 0) {
    // On a thread of its own: planning may take longer than a deadline, and
    // broadcast_text() keeps telling the others that rank 0 is at work.
    text = std::async(std::launch::async, [&] {
      const Costs costs = measured_costs(setup_.schedule, trace);
      // Limits the jitter: a larger one is not noise, and no order helps
      // against it.
      const double jitter = std::min(0.5, measured_jitter(trace));
      next.lowered = setup_.later ? *setup_.later : planned_for(costs, jitter);
      next.before_s = ordering::judged_period(setup_.schedule, costs, jitter);
      next.after_s = ordering::judged_period(next.lowered, costs, jitter);
      return to_sched(next.lowered);
    });
  }
  const auto patience =
      std::chrono::duration<double>(setup_.config.run.timeout_s) / 4;
  const std::string order = broadcast_text(
      transport_, std::move(text), patience, {.channel = Channel::kReplan});
  if (transport_.rank() == 0) observer_.on_replan(next);
  last_vote_ = Clock::now();
  return parse_schedule(order, "the planned order").value();
}

Schedule RankTraining::planned_for(const Costs& costs, double jitter) const {
  return make_replanned_schedule(setup_.config, {.tied = setup_.tied,
                                                 .costs = &costs,
                                                 .jitter = jitter,
                                                 .running = &setup_.schedule})
      .value();
}

int RankTraining::evaluation_steps() const {
  return static_cast<int>(std::max<std::int64_t>(
      1, setup_.evaluation->num_samples() / setup_.global_batch()));
}

bool RankTraining::is_evaluated(int steps_done) const {
  const int every = setup_.config.train.eval_every;
  return every > 0 && setup_.evaluation &&
         (steps_done % every == 0 || steps_done == *setup_.config.train.steps);
}

void RankTraining::evaluate(int steps_done) {
  evaluating_ = true;
  evaluation_loss_ = 0;
  const int batches = evaluation_steps();
  worker_.run(programs_->evaluation,
              {.end = batches, .training = false, .after = steps_done});
  evaluating_ = false;
  last_vote_ = Clock::now();
  if (report_) {
    report_->evaluation_loss = evaluation_loss_ / batches;
  }
}

void RankTraining::tell() {
  if (report_) observer_.on_step(*report_);
  report_.reset();
}

void RankTraining::note_vote(const VoteResult& result) {
  const Ballot& vote = result.ballot;
  if (evaluating_) {
    evaluation_loss_ += vote.loss;
    return;
  }
  const bool bad = is_bad(vote);
  if (bad && setup_.config.train.on_nan == OnNan::kStop && !bad_) {
    bad_ = BadStep{.step = result.step + 1};
    if (vote.bad_at != Ballot::kNowhere) {
      bad_->place = bad_place(vote.bad_at, setup_.schedule);
    }
  }
  if (vote.stop > 0) stopped_ = true;
  if (vote.save > 0) wants_save_ = true;
  if (saving_) saving_->note(vote);
  note_report(result);
  // An evaluated step is reported once its evaluation is done.
  if (!is_evaluated(result.step + 1)) tell();
}

void RankTraining::note_report(const VoteResult& result) {
  if (rank_ != 0) return;
  const Ballot& vote = result.ballot;
  StepReport report = report_of(result);
  report.skipped = is_bad(vote) && setup_.config.train.on_nan == OnNan::kSkip;
  report.redone =
      programs_->training.has_late_vote() && !compute_.confirms(vote);
  report_ = report;
}

StepReport RankTraining::report_of(const VoteResult& result) {
  const double step_s =
      std::chrono::duration<double>(result.started - last_vote_).count();
  last_vote_ = result.started;
  const double busy = result.ballot.busy_s / (transport_.size() * step_s);
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

// Returns the trace on rank 0; elsewhere it is empty. REQUIRES: all kept events
// belong to `schedule`.
Trace RankTraining::gather_trace(const Schedule& schedule, int steps) {
  std::vector<std::vector<Event>> events =
      clock_->gather(worker_.recorder().events());
  if (events.empty()) return {};
  // Time 0 of the trace is the first event of any rank.
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

bool RankTraining::has_finite_weights() {
  if (options_ == nullptr) return true;
  const std::vector<int>& stages = programs_->training.stages();
  return std::all_of(stages.begin(), stages.end(), [this](int stage) {
    const auto weights =
        named_weights(*options_, stage, *worker_.weights(stage));
    return std::all_of(weights.begin(), weights.end(),
                       [](const NamedTensor& tensor) {
                         return at::isfinite(tensor.value).all().item<bool>();
                       });
  });
}

void RankTraining::collect_rest(TrainOutcome& outcome) {
  const std::vector<std::vector<double>> all = gather_values(
      transport_,
      std::vector<double>{worker_.peak_activations(),
                          static_cast<double>(compute_.peak_bytes()),
                          has_finite_weights() ? 1.0 : 0.0},
      {.channel = Channel::kPeaks});
  for (const std::vector<double>& of_rank : all) {
    outcome.peaks.push_back(of_rank[0]);
    outcome.peak_bytes.push_back(of_rank[1]);
    // In an asynchronous run weights may become NaN after the last vote, in the
    // rounds that drain the pipeline.
    if (of_rank[2] == 0 && !outcome.bad) {
      outcome.bad = BadStep{.step = outcome.steps};
    }
  }
  if (options_ != nullptr) collect_weights(outcome);
}

void RankTraining::collect_weights(TrainOutcome& outcome) {
  read_weights(*options_, worker_, transport_, [&](WeightReader& reader) {
    if (outcome.bad) return;
    adopt_weights(setup_.model, reader);
    if (observer_.take_weights(outcome, reader)) return;
    const auto& parameters = reader.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      outcome.weights.push_back({parameters[i].name, reader.read(i)});
    }
  });
}

}  // namespace chimera
