// One rank of a training run. It takes its worker through all steps and does
// what comes between them: evaluations, comparisons of replicas, saves,
// replanning. Used by the rank's own thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "chimera/checkpoint/recovery.h"
#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/schedule/costs.h"
#include "chimera/train/collect.h"
#include "chimera/train/saving.h"
#include "chimera/train/train.h"

namespace chimera {

class RankTraining {
 public:
  // Shared by all ranks; everything outlives them.
  struct Options {
    const RunSetup& setup;
    TrainObserver& observer;
    const StartPoint& start;
    const TorchComputeOptions* options = nullptr;  // null if emulated
    bool is_process = false;  // this rank is alone in its process
  };

  RankTraining(const Options& options, Transport& transport,
               StageCompute& compute);
  ~RankTraining();
  RankTraining(const RankTraining&) = delete;
  RankTraining& operator=(const RankTraining&) = delete;

  // Runs all steps. Fills in `outcome` on rank 0, and on every rank that is a
  // process.
  void run(TrainOutcome& outcome);

  // Called after run() threw AbortedError because rank `lost` is gone: the
  // others together save the last state that all had agreed on. Returns nothing
  // if it cannot be saved.
  [[nodiscard]] std::optional<Recovered> survive(int lost);
  // Called after run() threw anything else while rank `lost` was gone already:
  // tells the others not to wait for this rank.
  void withdraw(int lost) const;

 private:
  struct Programs;

  [[nodiscard]] Recovery recovery_without(int lost) const;
  [[nodiscard]] int run_steps();
  void note_outcome(int steps, TrainOutcome& outcome) const;
  void add_to_ballot(Ballot& ballot);
  void note_vote(const VoteResult& result);
  // Keeps the report of a step on rank 0, until tell().
  void note_report(const VoteResult& result);
  [[nodiscard]] StepReport report_of(const VoteResult& result);
  void tell();
  void evaluate(int steps_done);
  [[nodiscard]] int next_stop(int step) const;
  // Each tells whether this action follows once `steps_done` steps are done.
  [[nodiscard]] bool is_evaluated(int steps_done) const;
  [[nodiscard]] bool is_compared(int steps_done) const;
  [[nodiscard]] bool is_saved(int steps_done) const;
  [[nodiscard]] int evaluation_steps() const;
  [[nodiscard]] int replan_step() const;
  [[nodiscard]] bool keeps_events() const;
  [[nodiscard]] Trace gather_trace(const Schedule& schedule, int steps);
  [[nodiscard]] Schedule replan();
  [[nodiscard]] Schedule planned_for(const Costs& costs, double jitter) const;
  void collect_rest(TrainOutcome& outcome);
  void collect_weights(TrainOutcome& outcome);
  // Whether all weights that this rank holds are finite.
  [[nodiscard]] bool has_finite_weights();

  const RunSetup& setup_;
  TrainObserver& observer_;
  const StartPoint& start_;
  const TorchComputeOptions* options_;
  bool is_process_;
  Transport& transport_;
  StageCompute& compute_;
  int rank_;

  std::optional<Saving> saving_;  // empty if there is nothing to save
  Worker worker_;
  std::unique_ptr<Programs> programs_;
  std::optional<TraceClock> clock_;
  bool evaluating_ = false;
  double evaluation_loss_ = 0;
  Clock::time_point last_vote_;
  std::optional<BadStep> bad_;
  bool stopped_ = false;
  bool wants_save_ = false;           // when it stops
  std::optional<StepReport> report_;  // waits for its step's evaluation
};

}  // namespace chimera
