// The parameters of the stages that one rank holds: a block for each stage, and
// one for the weight that the first and the last stage share if embeddings are
// tied.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "chimera/exec/stage_compute.h"
#include "chimera/model/torch_compute.h"
#include "chimera/model/torch_stage.h"

namespace chimera {

class HeldStages {
 public:
  // REQUIRES: `options` outlives this object.
  HeldStages(const TorchComputeOptions& options, int rank);

  [[nodiscard]] TorchStage& at(int stage) { return *stages_.at(stage); }
  // Number of updates applied to the weights so far.
  [[nodiscard]] std::int64_t updates() const {
    return stages_.begin()->second->block().updates();
  }

  [[nodiscard]] std::shared_ptr<TorchWeights> make_weights(
      int stage, SharedWeights* shared) const;
  // The saved weights from before the last update, for 2BW. Checkpoints of
  // other schemes lack them: the newest weights then take their place.
  // REQUIRES: the run resumes.
  [[nodiscard]] std::shared_ptr<TorchWeights> make_previous(int stage) const;
  [[nodiscard]] std::vector<StatePiece> state(const StateOrder& order) const;
  // Size of state() in bytes once updates have run, if it holds `versions`
  // versions of the weights.
  [[nodiscard]] std::int64_t state_bytes(int stage, int versions) const;

  // Prepares the gradients of `stage`. REQUIRES: called before each backward.
  void begin_gradients(int stage);
  // The block whose gradient is summed by `group`.
  [[nodiscard]] ParameterBlock& block_of(const SumGroup& group);
  // Returns the squared norms of this rank's shards of all gradients, as
  // ParameterBlock::squared_norm().
  [[nodiscard]] std::vector<at::Tensor> squared_norms() const;

  // The tied block if this rank updates it together with `stage`, else null.
  [[nodiscard]] ParameterBlock* tied_updated_with(int stage) const {
    return stage == tied_stage_ ? tied_.get() : nullptr;
  }
  [[nodiscard]] const BlockValues& tied_values() const { return tied_values_; }
  // The buffer that the members of `group` gather after updating `stage`.
  // `newest` holds the stage's updated weights.
  [[nodiscard]] NumberBuffer updated_shards(const SumGroup& group, int stage,
                                            const TorchWeights& newest) const;
  // Called when the shards of updated_shards() have arrived.
  void take_shards(const SumGroup& group, int stage,
                   const TorchWeights& newest) const;

 private:
  void make_tied_block(const std::vector<int>& stages);
  void make_stages(const std::vector<int>& stages);
  void restore();
  [[nodiscard]] Sharing sharing_of(const std::vector<int>& stages,
                                   int lost = kNone) const;

  const TorchComputeOptions& options_;
  int rank_;
  std::unique_ptr<ParameterBlock> tied_;
  BlockValues tied_values_;
  int tied_stage_ = kNone;
  std::map<int, std::unique_ptr<TorchStage>> stages_;  // [stage]
};

}  // namespace chimera
