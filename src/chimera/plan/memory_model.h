// Predicts how many bytes a worker needs, by purpose.
#pragma once

#include <vector>

#include "chimera/plan/staged_model.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct WorkerBytes {
  double weights = 0;  // all live versions, with their bf16 copies
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // activations held at the peak
  double boundary = 0;     // buffers of posted receives
  double workspace = 0;    // used by the action at the peak
  double checkpoint = 0;   // copy being written while training goes on
  double undo = 0;         // copy to undo updates if votes are late

  [[nodiscard]] double total() const {
    return weights + gradients + optimizer + activations + boundary +
           workspace + checkpoint + undo;
  }
  bool operator==(const WorkerBytes&) const = default;
};

struct MemoryOptions {
  // F keeps only the stage's input and the model's kept_bytes. R makes the rest
  // again, right before the backward unless the schedule places it.
  bool recompute = false;
  // Each holder of a stage, over pipes and copies, keeps only its share of the
  // optimizer states.
  bool shard_update = false;
  // Messages arrive in buffers that are posted in advance, as between
  // processes: one for every direction from which another worker sends. Threads
  // need none, as they hand tensors over.
  bool has_receive_buffers = true;
  // Each holder of a stage copies its share of weights and optimizer states for
  // a checkpoint. That memory is there from the first steps to the last.
  bool saves = false;
  // Synchronous schemes keep a copy of the weights and optimizer states that
  // the last update changed, to undo it. A lowered schedule with V implies
  // this.
  bool undoes_updates = false;
};

// [worker] of one copy: bytes of its tensors in steady state, including the
// copy for a checkpoint. Messages in transit are charged to no worker. Weights
// count once if a worker holds a stage in two pipes, and so does a tied weight
// if it holds the first and the last stage.
//
// REQUIRES: `schedule` validates clean and has as many stages as `model`.
[[nodiscard]] std::vector<WorkerBytes> worker_bytes(
    const Schedule& schedule, const StagedModel& model,
    const MemoryOptions& options);

// The bytes of the worker that needs most.
[[nodiscard]] WorkerBytes peak_bytes(const std::vector<WorkerBytes>& workers);

}  // namespace chimera
