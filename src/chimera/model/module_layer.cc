#include "chimera/model/module_layer.h"

#include <torch/nn/module.h>

#include <vector>

#include "chimera/base/check.h"

namespace chimera {
namespace {

class ModuleLayer : public Layer {
 public:
  explicit ModuleLayer(ModuleOptions options) : options_(std::move(options)) {
    for (const auto& named : options_.module->named_parameters()) {
      if (!named.value().requires_grad()) continue;
      weights_.push_back(named.value());
      parameters_.push_back({.name = options_.name + "." + named.key(),
                             .shape = named.value().sizes().vec(),
                             .init = Init::kOwn,
                             .decays = named.value().dim() > 1});
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
