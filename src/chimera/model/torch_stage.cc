#include "chimera/model/torch_stage.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <utility>

#include "chimera/base/check.h"

namespace chimera {
namespace {

std::vector<ParameterSpec> parameters(
    std::span<const std::unique_ptr<Layer>> layers, bool tied) {
  std::vector<ParameterSpec> specs;
  for (const std::unique_ptr<Layer>& layer : layers) {
    for (const ParameterSpec& spec : layer->parameters()) {
      const bool listed =
          tied && std::find(specs.begin(), specs.end(), spec) != specs.end();
      if (spec.tied == tied && !listed) specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace

std::vector<ParameterSpec> own_parameters(
    std::span<const std::unique_ptr<Layer>> layers) {
  return parameters(layers, false);
}

std::vector<ParameterSpec> tied_parameters(
    std::span<const std::unique_ptr<Layer>> layers) {
  return parameters(layers, true);
}

TorchStage::TorchStage(const Options& options)
    : options_(options),
      block_(own_parameters(options.layers), options.dtype, options.sharing) {
  for (const std::unique_ptr<Layer>& layer : options_.layers) {
    std::unique_ptr<Layer> replica = layer->replica();
    layers_.push_back(replica ? replica.get() : layer.get());
    replicas_.push_back(std::move(replica));
  }
}

std::vector<std::vector<at::Tensor>> TorchStage::by_layer(
    const BlockValues& own, const BlockValues* tied) const {
  std::vector<std::vector<at::Tensor>> leaves;
  std::size_t next = 0;
  for (const Layer* layer : layers_) {
    std::vector<at::Tensor>& mine = leaves.emplace_back();
    for (const ParameterSpec& spec : layer->parameters()) {
      mine.push_back(spec.tied ? tied->leaves[0] : own.leaves[next++]);
    }
  }
  CHIMERA_CHECK_EQ(next, own.leaves.size());
  return leaves;
}

std::shared_ptr<TorchWeights> TorchStage::make_weights(
    const ParameterInit& init, const BlockValues* tied) const {
  std::vector<at::Tensor> owned;
  for (const Layer* layer : layers_) {
    std::vector<at::Tensor> tensors = layer->own_weights();
    tensors.resize(layer->parameters().size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!layer->parameters()[i].tied) owned.push_back(tensors[i]);
    }
  }
  auto weights = std::make_shared<TorchWeights>();
  weights->own = block_.make_values(init, owned);
  weights->by_layer = by_layer(weights->own, tied);
  return weights;
}

// Tied weights have one version: asynchronous schedules refuse them.
std::shared_ptr<TorchWeights> TorchStage::copy_weights(
    const TorchWeights& weights) const {
  CHIMERA_CHECK(options_.tied == nullptr, "tied weights have one version");
  auto copy = std::make_shared<TorchWeights>();
  copy->own = block_.copy_values(weights.own);
  copy->by_layer = by_layer(copy->own, nullptr);
  return copy;
}

at::Tensor TorchStage::run(const at::Tensor& x, const TorchWeights& weights,
                           const Pass& pass, WeightGradQueue* deferred) const {
  LayerContext context{.batch = pass.batch,
                       .seed = pass.seed,
                       .step = pass.step,
                       .training = pass.training,
                       .deferred = deferred};
  at::Tensor value = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    context.layer = options_.first_layer + static_cast<int>(i);
    value = layers_[i]->forward(value, weights.by_layer[i], context);
  }
  return value;
}

at::Tensor run_backward(StageGraph& graph, const at::Tensor& gradient) {
  CHIMERA_CHECK(graph.output.defined(), "a backward without its forward");
  if (gradient.defined()) {
    torch::autograd::backward({graph.output}, {gradient});
  } else {
    torch::autograd::backward({graph.output});
  }
  graph.output.reset();
  at::Tensor input = std::exchange(graph.input, {});
  return input.defined() ? input.grad() : input;
}

}  // namespace chimera
