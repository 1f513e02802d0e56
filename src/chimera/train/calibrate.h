// The profile of this machine for one model, measured by all ranks of a run
// together, on the transport that they will use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/plan/profile.h"
#include "chimera/train/layer_bench.h"

namespace chimera {

struct CalibrateOptions {
  ModelDetails model;
  TrainConfig train;
  std::vector<int> micro_batches;  // ascending
  int threads = 1;                 // of each rank
  int cores = 1;                   // of this host
  double memory_bytes = 0;         // of one rank; 0 = not known
  double seconds = 0.5;            // at least, for each kind of measurement
  std::string machine;             // its name
  std::string description;
  std::string source;  // how it was measured
  // Called on rank 0: of all that is to be measured this share is done, and
  // what comes next.
  std::function<void(double share, const std::string& next)> on_progress;
};

// All ranks call it; only rank 0's result counts. Times are those of one rank
// that computes while the others wait; then as many as there are cores for
// compute at once, which gives the contention. With a single rank there are no
// links to measure: messages and sums are free then.
[[nodiscard]] Profile calibrate(Transport& transport,
                                const CalibrateOptions& options);

}  // namespace chimera
