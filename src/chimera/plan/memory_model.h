// How many bytes a worker needs, by what they are for.
#pragma once

#include <vector>

#include "chimera/plan/staged_model.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct WorkerBytes {
  double weights = 0;  // all versions that are live at once
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // at their peak
  double boundary = 0;     // buffers of posted receives
  double workspace = 0;    // of the one backward that runs

  [[nodiscard]] double total() const {
    return weights + gradients + optimizer + activations + boundary + workspace;
  }
  bool operator==(const WorkerBytes&) const = default;
};

struct MemoryOptions {
  // Only the stage's input is kept from F on; all else from R on, which runs
  // right before the backward.
  bool recompute = false;
  // Each holder of a stage, over pipes and copies, keeps its share of the
  // optimizer's state.
  bool shard_update = false;
};

// [worker] of one copy. Activations are counted as held.h counts them, each
// with its stage's bytes. A stage that a worker holds in two pipes has its
// weights once.
// REQUIRES: `schedule` validates clean and has as many stages as `model`.
[[nodiscard]] std::vector<WorkerBytes> worker_bytes(
    const Schedule& schedule, const StagedModel& model,
    const MemoryOptions& options);

// The one that needs most.
[[nodiscard]] WorkerBytes peak_bytes(const std::vector<WorkerBytes>& workers);

}  // namespace chimera
