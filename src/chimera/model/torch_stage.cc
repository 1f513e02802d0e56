#include "chimera/model/torch_stage.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "chimera/base/check.h"

namespace chimera {
namespace {

std::vector<ParameterSpec> parameters(
    std::span<const std::unique_ptr<Layer>> layers,
    const std::function<bool(const ParameterSpec&)>& wanted) {
  std::vector<ParameterSpec> specs;
  for (const std::unique_ptr<Layer>& layer : layers) {
    for (const ParameterSpec& spec : layer->parameters()) {
      // The tied parameter may be listed by two layers of one stage.
      const bool listed =
          std::find(specs.begin(), specs.end(), spec) != specs.end();
      if (wanted(spec) && !listed) specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace

std::vector<ParameterSpec> all_parameters(
    std::span<const std::unique_ptr<Layer>> layers) {
  return parameters(layers, [](const ParameterSpec&) { return true; });
}

std::vector<ParameterSpec> own_parameters(
    std::span<const std::unique_ptr<Layer>> layers) {
  return parameters(layers,
                    [](const ParameterSpec& spec) { return !spec.tied; });
}

std::vector<ParameterSpec> tied_parameters(
    std::span<const std::unique_ptr<Layer>> layers) {
  return parameters(layers,
                    [](const ParameterSpec& spec) { return spec.tied; });
}

TorchStage::TorchStage(const Options& options)
    : options_(options),
      block_(options.tied == nullptr ? all_parameters(options.layers)
                                     : own_parameters(options.layers),
             options.formats, options.sharing, options.device) {
  if (!options.device.is_cpu()) {
    tables_ = std::make_unique<DeviceTables>(options.device);
  }
  for (const std::unique_ptr<Layer>& layer : options_.layers) {
    // A layer that owns its weights, such as a user's module, serves one rank
    // only: autograd adds gradients to the tensors it owns.
    std::unique_ptr<Layer> replica = layer->replica();
    layers_.push_back(replica ? replica.get() : layer.get());
    replicas_.push_back(std::move(replica));
  }
}

std::vector<TorchStage::Tensors> TorchStage::by_layer(
    const Tensors& own, const Tensors* tied) const {
  std::map<std::string, at::Tensor> by_name;
  for (std::size_t i = 0; i < own.size(); ++i) {
    by_name[block_.specs()[i].name] = own[i];
  }
  std::vector<Tensors> tensors;
  for (const Layer* layer : layers_) {
    Tensors& mine = tensors.emplace_back();
    for (const ParameterSpec& spec : layer->parameters()) {
      // The tied block holds a single parameter.
      const bool shared = spec.tied && options_.tied != nullptr;
      mine.push_back(shared ? tied->front() : by_name.at(spec.name));
    }
  }
  return tensors;
}

void TorchStage::list_by_layer(const BlockValues* tied,
                               TorchWeights& weights) const {
  weights.by_layer =
      by_layer(weights.own.leaves, tied == nullptr ? nullptr : &tied->leaves);
  weights.masters_by_layer =
      by_layer(weights.own.masters, tied == nullptr ? nullptr : &tied->masters);
}

std::shared_ptr<TorchWeights> TorchStage::make_weights(
    const ParameterInit& init, const BlockValues* tied,
    SharedWeights* shared) const {
  std::map<std::string, at::Tensor> by_name;
  for (const Layer* layer : layers_) {
    const std::vector<at::Tensor> tensors = layer->own_weights();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      by_name[layer->parameters()[i].name] = tensors[i];
    }
  }
  std::vector<at::Tensor> owned;  // undefined unless the layer owns it
  owned.reserve(block_.specs().size());
  for (const ParameterSpec& spec : block_.specs()) {
    owned.push_back(by_name[spec.name]);
  }
  auto weights = std::make_shared<TorchWeights>();
  const auto make = [&] { return block_.make_numbers(init); };
  weights->is_shared = shared != nullptr && options_.sharing.holders > 1;
  weights->own = block_.values_in(
      weights->is_shared ? shared->get(options_.first_layer, make) : make(),
      owned);
  list_by_layer(tied, *weights);
  return weights;
}

// REQUIRES: the stage has no tied weights. Only asynchronous schedules keep
// several versions, and they refuse tied weights.
std::shared_ptr<TorchWeights> TorchStage::copy_weights(
    const TorchWeights& weights) const {
  CHIMERA_CHECK(options_.tied == nullptr, "tied weights have one version");
  auto copy = std::make_shared<TorchWeights>();
  copy->own = block_.copy_values(weights.own);
  list_by_layer(nullptr, *copy);
  return copy;
}

at::Tensor TorchStage::run(const at::Tensor& x, const TorchWeights& weights,
                           const Pass& pass, WeightGradQueue* deferred) const {
  LayerContext context{.batch = pass.batch,
                       .seed = pass.seed,
                       .step = pass.step,
                       .training = pass.training,
                       .deferred = deferred,
                       .tables = tables_.get()};
  at::Tensor value = x;
  const int end = pass.end == kNone ? num_layers() : pass.end;
  for (int i = pass.first; i < end; ++i) {
    context.layer = options_.first_layer + i;
    value = layers_[i]->forward(value, weights.by_layer[i], context);
  }
  return value;
}

torch::autograd::Edge root_of(const at::Tensor& output) {
  return torch::autograd::impl::gradient_edge(output);
}

at::Tensor run_backward(StageGraph& graph, const at::Tensor& gradient) {
  if (graph.is_constant) return {};
  CHIMERA_CHECK(graph.root.is_valid(), "a backward without its forward");
  // The backward starts at an edge of the graph, because the output itself was
  // not kept. A loss starts from 1. Taking the edge and the input out of
  // `graph` frees both as soon as possible.
  const torch::autograd::Edge root = std::exchange(graph.root, {});
  const at::Tensor seed =
      gradient.defined()
          ? gradient
          : root.function->input_metadata(root.input_nr).zeros_like().fill_(1);
  torch::autograd::Engine::get_default_engine().execute(
      {root}, {seed}, /*keep_graph=*/false, /*create_graph=*/false,
      /*accumulate_grad=*/true);
  at::Tensor input = std::exchange(graph.input, {});
  return input.defined() ? input.grad() : input;
}

}  // namespace chimera
