#include "chimera/model/module_layer.h"

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include <algorithm>
#include <vector>

#include "chimera/base/check.h"

namespace chimera {
namespace {

// Returns the weights that do not decay: embeddings and norms, as in the
// built-in models.
std::vector<at::Tensor> without_decay(const torch::nn::Module& module) {
  std::vector<at::Tensor> weights;
  for (const auto& part : module.modules()) {
    const bool keeps = part->as<torch::nn::EmbeddingImpl>() != nullptr ||
                       part->as<torch::nn::EmbeddingBagImpl>() != nullptr ||
                       part->as<torch::nn::LayerNormImpl>() != nullptr;
    if (!keeps) continue;
    const std::vector<at::Tensor> own = part->parameters(/*recurse=*/false);
    weights.insert(weights.end(), own.begin(), own.end());
  }
  return weights;
}

class ModuleLayer : public Layer {
 public:
  explicit ModuleLayer(ModuleOptions options) : options_(std::move(options)) {
    const std::vector<at::Tensor> kept = without_decay(*options_.module);
    for (const auto& named : options_.module->named_parameters()) {
      if (!named.value().requires_grad()) continue;
      const bool is_kept = std::any_of(
          kept.begin(), kept.end(),
          [&](const at::Tensor& own) { return own.is_same(named.value()); });
      weights_.push_back(named.value());
      parameters_.push_back({.name = options_.name + "." + named.key(),
                             .shape = named.value().sizes().vec(),
                             .init = Init::kOwn,
                             .decays = named.value().dim() > 1 && !is_kept});
    }
  }

  const std::string& name() const override { return options_.name; }
  const std::vector<ParameterSpec>& parameters() const override {
    return parameters_;
  }
  at::Tensor forward(const at::Tensor& x, std::span<const at::Tensor> weights,
                     const LayerContext& context) const override {
    CHIMERA_CHECK_EQ(weights.size(), weights_.size());
    for (std::size_t index = 0; index < weights.size(); ++index) {
      CHIMERA_CHECK(weights[index].is_same(weights_[index]),
                    parameters_[index].name + " is not the module's own");
    }
    if (options_.module->is_training() != context.training) {
      options_.module->train(context.training);
    }
    return options_.forward(*options_.module, x, context);
  }
  double forward_flops() const override { return options_.forward_flops; }
  bool splits_backward() const override { return false; }
  std::vector<at::Tensor> own_weights() const override { return weights_; }
  std::unique_ptr<Layer> replica() const override {
    ModuleOptions options = options_;
    options.module = options_.module->clone();
    // A clone is built by the module's constructor, so it has nothing frozen.
    const auto originals = options_.module->named_parameters();
    for (auto& named : options.module->named_parameters()) {
      named.value().set_requires_grad(originals[named.key()].requires_grad());
    }
    return make_module_layer(std::move(options));
  }

 private:
  ModuleOptions options_;
  std::vector<at::Tensor> weights_;
  std::vector<ParameterSpec> parameters_;
};

}  // namespace

std::unique_ptr<Layer> make_module_layer(ModuleOptions options) {
  return std::make_unique<ModuleLayer>(std::move(options));
}

}  // namespace chimera
