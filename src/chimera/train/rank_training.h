// One rank of a training run: its worker through all steps, and what comes
// between them: evaluations, comparisons of replicas, saves, planning again.
// Used by the rank's own thread.
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
  // What the ranks share; all of it outlives them.
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

  // All steps, and what they have led to: on rank 0 and where this process is
  // one rank `outcome` is filled in.
  void run(TrainOutcome& outcome);

  // After run() has thrown AbortedError, as `lost` is lost: together the
  // others save what all had agreed on. Nothing, where it cannot be saved.
  [[nodiscard]] std::optional<Recovered> survive(int lost);
  // After it has thrown anything else, but `lost` was lost before: nobody need
  // wait for this rank.
  void withdraw(int lost) const;

 private:
  struct Programs;

  [[nodiscard]] Recovery recovery_without(int lost) const;
  [[nodiscard]] int run_steps();
  void note_outcome(int steps, TrainOutcome& outcome) const;
  void add_to_ballot(Ballot& ballot);
  void note_vote(const VoteResult& result);
  [[nodiscard]] StepReport report_of(const VoteResult& result);
  void tell();
  void evaluate(int steps_done);
  [[nodiscard]] int next_stop(int step) const;
  // Whether this follows once so many steps are done.
  [[nodiscard]] bool is_evaluated(int steps_done) const;
  [[nodiscard]] bool is_compared(int steps_done) const;
  [[nodiscard]] bool is_saved(int steps_done) const;
  [[nodiscard]] int evaluation_steps() const;
  [[nodiscard]] int replan_step() const;
  [[nodiscard]] bool keeps_events() const;
  [[nodiscard]] Trace gather_trace(const Schedule& schedule, int steps);
  [[nodiscard]] Schedule replan();
  [[nodiscard]] Schedule planned_for(const Costs& costs) const;
  void collect_rest(TrainOutcome& outcome);
  void collect_weights(TrainOutcome& outcome);
  // Whether all weights that this rank holds are numbers.
  [[nodiscard]] bool has_finite_weights();

  const RunSetup& setup_;
  TrainObserver& observer_;
  const StartPoint& start_;
  const TorchComputeOptions* options_;
  bool is_process_;
  Transport& transport_;
  StageCompute& compute_;
  int rank_;

  std::optional<Saving> saving_;  // not if there is nothing to save
  Worker worker_;
  std::unique_ptr<Programs> programs_;
  std::optional<TraceClock> clock_;
  bool evaluating_ = false;
  double evaluation_loss_ = 0;
  Clock::time_point last_vote_;
  std::optional<BadStep> bad_;
  bool stopped_ = false;
  bool wants_save_ = false;           // before it stops
  std::optional<StepReport> report_;  // waits for its step's evaluation
};

}  // namespace chimera
