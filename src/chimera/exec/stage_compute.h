// The computations of stages, as an interface: the runtime walks schedules over
// it; emulated stages and libtorch implement it. One object per rank, used by
// that rank's thread only. The runtime owns what lives between actions
// (stashes, weight versions, payloads) and passes it back; only the
// implementation looks inside.
#pragma once

#include <cstdint>
#include <memory>

#include "chimera/comm/transport.h"
#include "chimera/exec/time_mark.h"
#include "chimera/exec/train_state.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// One computation of a stage. `step` counts all steps of the run.
struct Work {
  int pipe = 0;
  int stage = 0;
  int micro = 0;
  int part = 0;
  int step = 0;
  bool training = true;  // false: evaluation, nothing is kept
};

// The data that a forward keeps for its backward.
class Stash {
 public:
  Stash() = default;
  Stash(const Stash&) = delete;
  Stash& operator=(const Stash&) = delete;
  virtual ~Stash() = default;
};
using StashPtr = std::unique_ptr<Stash>;

// One version of a stage's weights.
class Weights {
 public:
  Weights() = default;
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;
  virtual ~Weights() = default;
};
using WeightsPtr = std::shared_ptr<Weights>;

enum class Keep {
  kGraph,    // all that the backward needs
  kInput,    // enough to recompute
  kNothing,  // evaluation
};

struct ForwardResult {
  PayloadPtr output;  // null from the last stage, which keeps the loss
  StashPtr stash;     // null with kNothing
};

struct UpdateOrder {
  int stage = 0;
  int step = 0;
  int micro = kNone;  // set if each micro-batch has its own update
  // True: the update must not overwrite the current values, which are still
  // needed, and makes new ones.
  bool keep_current = false;
  // The step's vote if the update waits for it; else null.
  const Ballot* vote = nullptr;
  // The vote decides about the update and is not known yet: undo_update may
  // follow.
  bool is_provisional = false;
};

// Selects what this rank saves of a stage, so that all holders together save
// everything once.
struct StateOrder {
  int stage = 0;
  const Weights& newest;
  const Weights* previous = nullptr;  // set if forwards still use it
  int lost = kNone;                   // a lost rank, which saves nothing
};

class StageCompute {
 public:
  StageCompute() = default;
  StageCompute(const StageCompute&) = delete;
  StageCompute& operator=(const StageCompute&) = delete;
  virtual ~StageCompute() = default;

  [[nodiscard]] virtual WeightsPtr initial_weights(int stage) = 0;
  // On resume with double buffering: the previous weights. Null otherwise.
  [[nodiscard]] virtual WeightsPtr initial_previous(int /*stage*/) {
    return nullptr;
  }

  // The training state that `order` selects, as views that stay valid until the
  // next update. Empty if the implementation keeps no state.
  [[nodiscard]] virtual std::vector<StatePiece> state(
      const StateOrder& /*order*/) {
    return {};
  }
  // Bytes of the views in state() of `stage` once updates have run.
  [[nodiscard]] virtual std::int64_t state_bytes(int /*stage*/) const {
    return 0;
  }
  // Number of updates applied so far, including those before a resume.
  [[nodiscard]] virtual std::int64_t updates() const { return 0; }

  // `input` is the output of the stage below; null for stage 0.
  [[nodiscard]] virtual ForwardResult forward(const Work& work,
                                              const WeightsPtr& weights,
                                              PayloadPtr input, Keep keep) = 0;
  // Completes the stash of a forward with Keep::kInput.
  virtual void recompute(const Work& work, Stash& stash) = 0;
  // `gradient` is what the stage above returned; null for the last stage.
  // Returns the gradient for the stage below; null from stage 0.
  [[nodiscard]] virtual PayloadPtr backward(const Work& work, Stash& stash,
                                            PayloadPtr gradient) = 0;
  // backward() in two halves: the input gradient, then the weight gradient.
  [[nodiscard]] virtual PayloadPtr input_grad(const Work& work, Stash& stash,
                                              PayloadPtr gradient) = 0;
  virtual void weight_grad(const Work& work, Stash& stash) = 0;

  // This rank's gradient of the weights that `group` shares, summed over the
  // members on this rank. The all-reduce replaces it by the sum over all ranks
  // (with only_shard: by this rank's shard of it, and zeros) before the next
  // update.
  [[nodiscard]] virtual NumberBuffer gradient(const SumGroup& group) = 0;

  // Updates `current` in place and returns it, or returns a new version.
  [[nodiscard]] virtual WeightsPtr update(const UpdateOrder& order,
                                          const WeightsPtr& current) = 0;

  // Whether a provisional update is the one that `vote` asks for. The same on
  // every rank.
  [[nodiscard]] virtual bool confirms(const Ballot& /*vote*/) const {
    return true;
  }
  // Undoes the last update of `stage`, which was provisional and returned
  // `weights`. REQUIRES: no backward has run since. ENSURES: `weights`, all
  // state and the gradient are as before that update, bit for bit.
  virtual void undo_update(int /*stage*/, const WeightsPtr& /*weights*/) {}
  // Forgets what the forwards of training step `step` left besides their
  // results, because these forwards will be run again or dropped.
  virtual void forget_forwards(int /*step*/) {}

  // The weights to all-gather if each rank has updated only its shard of what
  // `group` shares; empty if there is nothing to gather. Called after `stage`'s
  // update.
  [[nodiscard]] virtual NumberBuffer updated_shards(const SumGroup& group,
                                                    int stage) = 0;
  // Called when the shards of the other ranks have arrived.
  virtual void take_shards(const SumGroup& /*group*/, int /*stage*/) {}

  // This rank's ballot for the step's vote. REQUIRES: the rank's all-reduces
  // are complete.
  [[nodiscard]] virtual Ballot ballot(int step, bool training) = 0;

  // Makes a payload to receive into: the activation that enters work.stage, or
  // the gradient that returns to it.
  [[nodiscard]] virtual PayloadPtr empty_payload(const Work& work,
                                                 bool is_gradient) = 0;

  // Marks on a device's queue: its current end, and the place behind all waits
  // for messages where the last forward, recomputation, backward or update
  // began. Null if the host itself computes.
  [[nodiscard]] virtual TimeMarkPtr mark() { return nullptr; }
  [[nodiscard]] virtual TimeMarkPtr work_start() { return nullptr; }

  // Peak memory in bytes; 0 if not measured.
  [[nodiscard]] virtual std::int64_t peak_bytes() const { return 0; }
};

}  // namespace chimera
