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
  double activations = 0;  // held when most is needed
  double boundary = 0;     // buffers of posted receives
  double workspace = 0;    // of what runs when most is needed
  double checkpoint = 0;   // the copy that is written while training goes on
  double undo = 0;         // what updates have changed, with late votes

  [[nodiscard]] double total() const {
    return weights + gradients + optimizer + activations + boundary +
           workspace + checkpoint + undo;
  }
  bool operator==(const WorkerBytes&) const = default;
};

struct MemoryOptions {
  // Only the stage's input is kept from F on; all else from R on, which runs
  // right before the backward unless the schedule says when.
  bool recompute = false;
  // Each holder of a stage, over pipes and copies, keeps its share of the
  // optimizer's state.
  bool shard_update = false;
  // Whether messages arrive in buffers that lie ready, as between processes:
  // one for every direction in which another worker sends. Threads hand
  // tensors over.
  bool has_receive_buffers = true;
  // Each holder of a stage copies its share of weights and optimizer state for
  // a checkpoint, and keeps the memory for the next.
  bool saves = false;
  // Synchronous schemes keep a copy of the weights and optimizer state that the
  // last update has changed, to undo it. A lowered schedule with V says so by
  // itself.
  bool undoes_updates = false;
};

// [worker] of one copy: what its tensors, and the copy of them that is saved,
// take in steady state. A message on its way is nobody's. A stage that a worker
// holds in two pipes has its weights once, and so has the weight that the first
// and last stage share.
// REQUIRES: `schedule` validates clean and has as many stages as `model`.
[[nodiscard]] std::vector<WorkerBytes> worker_bytes(
    const Schedule& schedule, const StagedModel& model,
    const MemoryOptions& options);

// The one that needs most.
[[nodiscard]] WorkerBytes peak_bytes(const std::vector<WorkerBytes>& workers);

}  // namespace chimera
