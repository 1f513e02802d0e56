// One stage on libtorch: a range of layers, their weights, and forwards and
// backwards through them by autograd.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <span>
#include <vector>

#include "chimera/exec/stage_compute.h"
#include "chimera/model/layer.h"
#include "chimera/model/parameter_block.h"
#include "chimera/model/shared_weights.h"

namespace chimera {

// A version of a stage's own weights and the tied ones it shares.
struct TorchWeights final : Weights {
  BlockValues own;
  // [layer of the stage][parameter]; leaves of `own` or of the tied block.
  std::vector<std::vector<at::Tensor>> by_layer;
};

// A forward that its backward can follow. With backward halving there are two
// for each micro-batch.
struct StageGraph {
  at::Tensor input;  // leaf; undefined in the first stage
  // Where the output came from, instead of the output itself, which the next
  // stage has; gone once the backward has run.
  torch::autograd::Edge root;
  // The output depends on nothing that is trained: a first stage of frozen
  // layers. Its backward has nothing to do.
  bool is_constant = false;
  WeightGradQueue deferred;
};

struct TorchStash final : Stash {
  std::shared_ptr<TorchWeights> weights;
  at::Tensor input;  // only until the recomputation; may be undefined
  // Stable addresses: layers keep pointers to the queues.
  std::vector<std::unique_ptr<StageGraph>> graphs;  // by part
};

class TorchStage {
 public:
  struct Options {
    std::span<const std::unique_ptr<Layer>> layers;  // of this stage only
    int first_layer = 0;                             // in the whole model
    at::ScalarType dtype = at::kFloat;
    Sharing sharing;
    // Of this rank, where the tied weight is shared with another stage. Null:
    // whatever its layers list is the stage's own.
    ParameterBlock* tied = nullptr;
  };
  explicit TorchStage(const Options& options);

  [[nodiscard]] ParameterBlock& block() { return block_; }
  [[nodiscard]] ParameterBlock* tied() const { return options_.tied; }

  // `tied` are the values of tied(), where there is one. With `shared` the
  // stage's own lie where all holders of this process have them.
  [[nodiscard]] std::shared_ptr<TorchWeights> make_weights(
      const ParameterInit& init, const BlockValues* tied,
      SharedWeights* shared) const;
  [[nodiscard]] std::shared_ptr<TorchWeights> copy_weights(
      const TorchWeights& weights) const;

  struct Pass {
    const TensorBatch& batch;
    std::int64_t seed = 0;
    std::int64_t step = 0;
    bool training = true;
  };
  // Through all layers. `deferred` as in LayerContext.
  [[nodiscard]] at::Tensor run(const at::Tensor& x, const TorchWeights& weights,
                               const Pass& pass,
                               WeightGradQueue* deferred) const;

 private:
  [[nodiscard]] std::vector<std::vector<at::Tensor>> by_layer(
      const BlockValues& own, const BlockValues* tied) const;

  Options options_;
  // Of layers that holders of a stage cannot share.
  std::vector<std::unique_ptr<Layer>> replicas_;  // by layer; may be null
  std::vector<const Layer*> layers_;
  ParameterBlock block_;
};

// The parameters of these layers, each once: all, those that are not tied, or
// the tied one.
[[nodiscard]] std::vector<ParameterSpec> all_parameters(
    std::span<const std::unique_ptr<Layer>> layers);
[[nodiscard]] std::vector<ParameterSpec> own_parameters(
    std::span<const std::unique_ptr<Layer>> layers);
[[nodiscard]] std::vector<ParameterSpec> tied_parameters(
    std::span<const std::unique_ptr<Layer>> layers);

// Where a backward through `output` will begin.
[[nodiscard]] torch::autograd::Edge root_of(const at::Tensor& output);

// The gradient of the graph's output backwards; undefined for a loss. Returns
// that of graph.input, undefined in the first stage.
[[nodiscard]] at::Tensor run_backward(StageGraph& graph,
                                      const at::Tensor& gradient);

}  // namespace chimera
