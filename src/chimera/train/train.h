// Training: all ranks through all steps, and what is to be told of each.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chimera/comm/link_clock.h"
#include "chimera/exec/flight_recorder.h"
#include "chimera/model/torch_compute.h"
#include "chimera/trace/trace.h"
#include "chimera/train/collect.h"
#include "chimera/train/saving.h"
#include "chimera/train/setup.h"

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
  double bubble = 0;     // share of the workers' time outside of compute
  bool skipped = false;  // its update, because of a NaN
  std::optional<double> evaluation_loss;  // after it, where train.eval_every
};

struct BadStep {
  int step = 0;  // from 1
  // Where the first bad number came from; absent where only the gradient was.
  std::optional<BadPlace> place;
};

// The order that the run went over to.
struct Replanned {
  int step = 0;              // after which it is used, from 1
  Schedule lowered;          // the new order
  bool is_repeated = false;  // it came from schedule.file, else was planned
  double before_s = 0;       // from step to step in the old order, simulated
  double after_s = 0;        // and in the new one
};

// What the world outside wants of a run.
enum class Wish { kGoOn, kEnd, kSaveAndEnd };

// A worker was lost, and the others have saved the run without it.
struct Recovered {
  int rank = 0;  // that was lost
  int step = 0;  // steps done
  std::string path;
  std::string reason;  // what it died of, where ranks are threads
};

struct TrainOutcome;

struct TrainHooks {
  // Called on the thread of rank 0.
  std::function<void(const StepReport& report)> on_step;
  std::function<void(const Replanned& replanned)> on_replan;
  // Whether to end after this step. Called on every rank's thread.
  std::function<Wish()> wish;
  SaveHooks saves;
  // Where ranks are threads: on the calling thread, before the run goes on.
  // Else on the rank's own thread, after which train() throws.
  std::function<void(const Recovered& recovered)> on_recovered;
  // Called on the thread of rank 0 once all steps are done and all weights are
  // numbers, with what is known of the run by then. If it is empty, the weights
  // go into TrainOutcome::weights.
  std::function<void(const TrainOutcome& outcome, WeightReader& weights)>
      on_weights;
  // Where a rank notes its actions; may be empty, or give null.
  std::function<FlightRecorder*(int rank)> flight;
};

// Where the ranks are. By default all are threads of this process.
struct TrainSite {
  Transport* own = nullptr;             // this process is this one rank
  std::vector<std::string> rank_names;  // in messages; may be empty
  // Where checkpoints go; empty: config.run.dir.
  std::string run_dir;
  // Once waits were aborted: the rank that is lost, -1 if none is.
  std::function<int()> lost;
};

// Where ranks are processes, only that of rank 0 knows what stands below
// `wants_save`.
struct TrainOutcome {
  int steps = 0;  // done
  std::optional<BadStep> bad;
  bool interrupted = false;
  bool wants_save = false;    // it was interrupted to be continued
  std::optional<int> saved;   // the newest step in a checkpoint of this run
  bool has_unsaved = false;   // some checkpoint could not be written
  Trace trace;                // empty unless run.trace
  Schedule schedule;          // what it is a trace of
  std::vector<double> peaks;  // [rank]: activations held
  std::vector<double> peak_bytes;  // [rank]: of tensors; 0 if emulated
  // Of the whole model; empty if emulated or TrainHooks::on_weights is given.
  std::vector<NamedTensor> weights;
};

// Throws CommError and what else a worker dies of.
[[nodiscard]] TrainOutcome train(const RunSetup& setup, const TrainHooks& hooks,
                                 const TrainSite& site = {});

// The speed of emulated links.
[[nodiscard]] LinkSpeed link_speed(const RunSetup& setup);

}  // namespace chimera
