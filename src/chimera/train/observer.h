// The interface by which a caller follows a training run and ends it early.
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
  double mfu = 0;        // share of the machine's peak; 0 = unknown
  double bubble = 0;     // share of the workers' time outside of compute
  bool skipped = false;  // no update, because of a NaN
  bool redone = false;   // update repeated after a late vote
  std::optional<double> evaluation_loss;  // if this step was evaluated
};

// Tells that the run changed to another order.
struct Replanned {
  int step = 0;              // last step in the old order, from 1
  Schedule lowered;          // the new order
  bool is_repeated = false;  // read from schedule.file, not planned now
  double before_s = 0;       // simulated period of the old order
  double after_s = 0;        // simulated period of the new order
};

// Tells that a rank could not write its part of a checkpoint.
struct UnwrittenPart {
  int rank = 0;
  int step = 0;
  std::string reason;
};

// Tells that a deadline passed while all ranks wait for one rank's part.
struct LatePart {
  int rank = 0;
  int step = 0;
};

// Tells that a rank was lost and that the others saved the run without it.
struct Recovered {
  int rank = 0;  // the lost rank
  int step = 0;  // steps done
  std::string path;
  std::string reason;  // why it failed; only if ranks are threads
};

// What the caller wants the run to do.
enum class Wish { kGoOn, kEnd, kSaveAndEnd };

struct TrainOutcome;

// Functions do nothing unless overridden. They are called on the thread of rank
// 0 unless noted.
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
  // Called on the thread of the rank itself.
  virtual void on_unwritten(const UnwrittenPart& /*part*/) {}
  // Ranks as threads: called on the thread that called train(), before the run
  // continues. Ranks as processes: called on the rank's own thread, after which
  // train() throws.
  virtual void on_recovered(const Recovered& /*recovered*/) {}

  // Asked after each step, on every rank's thread: whether to end here.
  [[nodiscard]] virtual Wish wish() { return Wish::kGoOn; }

  // Takes the weights once all steps are done and all weights are finite.
  // `outcome` holds what is known of the run so far. Returns false to leave the
  // weights to TrainOutcome::weights.
  virtual bool take_weights(const TrainOutcome& /*outcome*/,
                            WeightReader& /*weights*/) {
    return false;
  }

  // The recorder of a rank's last actions; may be null.
  [[nodiscard]] virtual FlightRecorder* flight(int /*rank*/) { return nullptr; }

  // Ranks as processes: asked on the rank's own thread after its waits were
  // aborted. Returns the lost rank, or -1 if none is lost.
  [[nodiscard]] virtual int lost_rank() { return -1; }
};

// Calls one function for each step.
class StepObserver final : public TrainObserver {
 public:
  using Function = std::function<void(const StepReport& report)>;

  explicit StepObserver(Function function) : function_(std::move(function)) {}

  void on_step(const StepReport& report) override { function_(report); }

 private:
  Function function_;
};

}  // namespace chimera
