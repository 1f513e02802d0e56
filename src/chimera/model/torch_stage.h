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

// One version of a stage's weights, and the tied ones it shares.
struct TorchWeights final : Weights {
  BlockValues own;
  // [layer of the stage][parameter]: leaves that layers compute with, from
  // `own` or the tied block, and their masters in the format of updates.
  std::vector<std::vector<at::Tensor>> by_layer;
  std::vector<std::vector<at::Tensor>> masters_by_layer;
  // True if all holders of the stage share these numbers and update a shard
  // each.
  bool is_shared = false;
};

// A forward that waits for its backward. With backward halving each micro-batch
// has two graphs.
struct StageGraph {
  at::Tensor input;  // a leaf; undefined in the first stage
  // The autograd edge of the output. The output itself is not kept: the next
  // stage has it. Invalid once the backward has run.
  torch::autograd::Edge root;
  // True if the output depends on no trained weight (a first stage of frozen
  // layers): its backward has nothing to do.
  bool is_constant = false;
  WeightGradQueue deferred;
};

struct TorchStash final : Stash {
  std::shared_ptr<TorchWeights> weights;
  at::Tensor input;  // kept until recomputed; may be undefined
  // [part]. Held by pointer because layers keep pointers to the queues. With a
  // recomputation in part, `graphs` are of the layers that are kept and
  // `first_graphs` of those before them.
  std::vector<std::unique_ptr<StageGraph>> graphs;
  std::vector<std::unique_ptr<StageGraph>> first_graphs;
};

class TorchStage {
 public:
  struct Options {
    std::span<const std::unique_ptr<Layer>> layers;  // of this stage
    int first_layer = 0;                             // index in the whole model
    Formats formats;
    at::Device device = at::kCPU;
    Sharing sharing;
    // The tied block of this rank if another stage shares the weight. Null: all
    // parameters of the layers are the stage's own.
    ParameterBlock* tied = nullptr;
  };
  explicit TorchStage(const Options& options);

  [[nodiscard]] int num_layers() const {
    return static_cast<int>(layers_.size());
  }
  [[nodiscard]] ParameterBlock& block() { return block_; }
  [[nodiscard]] ParameterBlock* tied() const { return options_.tied; }

  // Makes the weights. `tied` holds the values of tied(), if there is one. With
  // `shared`, the stage's own numbers are in the memory that all holders of
  // this process share.
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
    // The range of layers, counted from the stage's first; kNone: to its last.
    int first = 0;
    int end = kNone;
  };
  // Runs the layers of the pass. `deferred` as in LayerContext.
  [[nodiscard]] at::Tensor run(const at::Tensor& x, const TorchWeights& weights,
                               const Pass& pass,
                               WeightGradQueue* deferred) const;

 private:
  using Tensors = std::vector<at::Tensor>;
  // Sorts a block's parameters `own`, and the tied one, by [layer][parameter].
  [[nodiscard]] std::vector<Tensors> by_layer(const Tensors& own,
                                              const Tensors* tied) const;
  void list_by_layer(const BlockValues* tied, TorchWeights& weights) const;

  Options options_;
  // Copies of the layers that the holders of a stage cannot share.
  std::vector<std::unique_ptr<Layer>> replicas_;  // [layer]; may be null
  std::vector<const Layer*> layers_;
  std::unique_ptr<DeviceTables> tables_;  // null on the CPU
  ParameterBlock block_;
};

// The parameters of these layers, each listed once: all of them, only the
// untied ones, or only the tied one.
[[nodiscard]] std::vector<ParameterSpec> all_parameters(
    std::span<const std::unique_ptr<Layer>> layers);
[[nodiscard]] std::vector<ParameterSpec> own_parameters(
    std::span<const std::unique_ptr<Layer>> layers);
[[nodiscard]] std::vector<ParameterSpec> tied_parameters(
    std::span<const std::unique_ptr<Layer>> layers);

// The autograd edge at which a backward through `output` starts.
[[nodiscard]] torch::autograd::Edge root_of(const at::Tensor& output);

// Runs the backward from the gradient of the graph's output (undefined for a
// loss). Returns the gradient of graph.input, undefined in the first stage.
[[nodiscard]] at::Tensor run_backward(StageGraph& graph,
                                      const at::Tensor& gradient);

}  // namespace chimera
