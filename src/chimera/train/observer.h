// Follows a training run: what happens in it, and what is asked of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chimera/checkpoint/saver.h"
#include "chimera/exec/flight_recorder.h"
#include "chimera/schedule/schedule.h"
#include "chimera/train/weight_reader.h"

namespace chimera {

// One line of metrics.jsonl.
struct StepReport {
  int step = 0;  // from 1
  double loss = 0;
  double grad_norm = 0;  // before clipping
  double lr = 0;
  std::int64_t tokens = 0;  // of this step
  double tokens_per_s = 0;
  double step_s = 0;
  double mfu = 0;        // share of the machine's peak; 0 if not known
  double bubble = 0;     // share of the workers' time outside of compute
  bool skipped = false;  // its update, because of a NaN
  bool redone = false;   // its update, because of a late vote
  std::optional<double> evaluation_loss;  // after it, where train.eval_every
};

// The order that the run changed to.
struct Replanned {
  int step = 0;              // after which it is used, from 1
  Schedule lowered;          // the new order
  bool is_repeated = false;  // it came from schedule.file, else was planned
  double before_s = 0;       // from step to step in the old order, simulated
  double after_s = 0;        // and in the new one
};

// A rank could not write its part of a checkpoint.
struct UnwrittenPart {
  int rank = 0;
  int step = 0;
  std::string reason;
};

// A deadline has passed while all ranks wait for a rank's part.
struct LatePart {
  int rank = 0;
  int step = 0;
};

// A worker was lost, and the others have saved the run without it.
struct Recovered {
  int rank = 0;  // that was lost
  int step = 0;  // steps done
  std::string path;
  std::string reason;  // why it failed, where ranks are threads
};

// What the world outside wants of a run.
enum class Wish { kGoOn, kEnd, kSaveAndEnd };

struct TrainOutcome;

// Functions do nothing unless a derived class says otherwise. They are called
// on the thread of rank 0 unless noted.
class TrainObserver {
 public:
  TrainObserver() = default;
  TrainObserver(const TrainObserver&) = delete;
  TrainObserver& operator=(const TrainObserver&) = delete;
  virtual ~TrainObserver() = default;

  virtual void on_step(const StepReport& /*report*/) {}
  virtual void on_replan(const Replanned& /*replanned*/) {}
  virtual void on_save(const SaveResult& /*save*/) {}
  virtual void on_late(const LatePart& /*part*/) {}
  // On the thread of the rank itself.
  virtual void on_unwritten(const UnwrittenPart& /*part*/) {}
  // Ranks as threads: on the thread that called train(), before the run goes
  // on. Ranks as processes: on the rank's own thread, after which train()
  // throws.
  virtual void on_recovered(const Recovered& /*recovered*/) {}

  // Whether to end after this step. On every rank's thread.
  [[nodiscard]] virtual Wish wish() { return Wish::kGoOn; }

  // Takes the weights once all steps are done and all weights are numbers;
  // `outcome` is what is known of the run by then. Returns false to leave them
  // to TrainOutcome::weights.
  virtual bool take_weights(const TrainOutcome& /*outcome*/,
                            WeightReader& /*weights*/) {
    return false;
  }

  // Recorder of a rank's last actions; may be null.
  [[nodiscard]] virtual FlightRecorder* flight(int /*rank*/) { return nullptr; }

  // Ranks as processes: the rank that is lost, once waits were aborted; -1 if
  // none is. On the rank's own thread.
  [[nodiscard]] virtual int lost_rank() { return -1; }
};

// Follows the steps of a run with one function.
class StepObserver final : public TrainObserver {
 public:
  using Function = std::function<void(const StepReport& report)>;

  explicit StepObserver(Function function) : function_(std::move(function)) {}

  void on_step(const StepReport& report) override { function_(report); }

 private:
  Function function_;
};

}  // namespace chimera
