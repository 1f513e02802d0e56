// Training: all ranks through all steps, and what is to be told of each.
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
  // Where the first bad number came from; absent where only the gradient was.
  std::optional<BadPlace> place;
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
  // Of the whole model; empty if emulated or TrainObserver::take_weights took
  // them.
  std::vector<NamedTensor> weights;
};

// Trains all ranks as threads of this process; if `own` is given, this process
// is the one rank of that transport. Throws CommError and whatever else ends a
// worker.
[[nodiscard]] TrainOutcome train(const RunSetup& setup, TrainObserver& observer,
                                 Transport* own = nullptr);
// The same, followed by nobody.
[[nodiscard]] TrainOutcome train(const RunSetup& setup);

// The speed of emulated links.
[[nodiscard]] LinkSpeed link_speed(const RunSetup& setup);

}  // namespace chimera
