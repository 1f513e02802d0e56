// Training: takes all ranks through all steps and reports each step.
#pragma once

#include <optional>
#include <vector>

#include "chimera/comm/link_clock.h"
#include "chimera/model/torch_compute.h"
#include "chimera/trace/trace.h"
#include "chimera/train/observer.h"
#include "chimera/train/setup.h"

namespace chimera {

struct BadStep {
  int step = 0;  // from 1
  // Origin of the first bad number; empty if only the gradient had one.
  std::optional<BadPlace> place;
};

// If ranks are processes, only rank 0 sets the members below `wants_save`.
struct TrainOutcome {
  int steps = 0;  // done
  std::optional<BadStep> bad;
  bool interrupted = false;
  bool wants_save = false;         // ended early, to be resumed later
  std::optional<int> saved;        // newest step in a checkpoint
  bool has_unsaved = false;        // a checkpoint could not be written
  Trace trace;                     // empty unless run.trace
  Schedule schedule;               // the schedule of `trace`
  std::vector<double> peaks;       // [rank]: most activations held
  std::vector<double> peak_bytes;  // [rank]: of tensors; 0 if emulated
  // The weights of the whole model. Empty if emulated, or if
  // TrainObserver::take_weights took them.
  std::vector<NamedTensor> weights;
};

// Trains all ranks as threads of this process; if `own` is given, this process
// is the one rank of that transport. Throws CommError and whatever else ends a
// worker.
[[nodiscard]] TrainOutcome train(const RunSetup& setup, TrainObserver& observer,
                                 Transport* own = nullptr);
// The same without an observer.
[[nodiscard]] TrainOutcome train(const RunSetup& setup);

// The links of an emulated run; null for others.
[[nodiscard]] LinkTimesPtr link_times(const RunSetup& setup);

}  // namespace chimera
