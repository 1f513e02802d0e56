// The stages that one rank holds, as parameters: a block of each, and the block
// that first and last stage share where embeddings are tied.
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
  // `options` outlive it.
  HeldStages(const TorchComputeOptions& options, int rank);

  [[nodiscard]] TorchStage& at(int stage) { return *stages_.at(stage); }
  // That the weights have seen.
  [[nodiscard]] std::int64_t updates() const {
    return stages_.begin()->second->block().updates();
  }

  [[nodiscard]] std::shared_ptr<TorchWeights> make_weights(
      int stage, SharedWeights* shared) const;
  // Those of one update earlier, as they were saved: only 2BW needs them, and a
  // run of another scheme had none.
  [[nodiscard]] std::shared_ptr<TorchWeights> make_previous(int stage) const;
  [[nodiscard]] std::vector<StatePiece> state(const StateOrder& order) const;

  // Before a backward of `stage`.
  void begin_gradients(int stage);
  // Whose gradient `group` adds up.
  [[nodiscard]] ParameterBlock& block_of(const SumGroup& group);
  // Of this rank's shards of all gradients.
  [[nodiscard]] double squared_norm() const;

  // The tied weights, if `stage`'s update is also theirs on this rank; or null.
  [[nodiscard]] ParameterBlock* tied_updated_with(int stage) const {
    return stage == tied_stage_ ? tied_.get() : nullptr;
  }
  [[nodiscard]] const BlockValues& tied_values() const { return tied_values_; }
  // What the members of `group` gather after `stage`'s update, which left its
  // own weights in `newest`.
  [[nodiscard]] NumberBuffer updated_shards(const SumGroup& group, int stage,
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
  std::map<int, std::unique_ptr<TorchStage>> stages_;  // by number
};

}  // namespace chimera
