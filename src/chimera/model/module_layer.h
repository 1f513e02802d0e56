// Any torch::nn::Module as a layer, so that users' models can be cut into
// stages. A module owns its weights: it works in schedules that keep one
// version of them, and its backward is not split (W is empty).
//
// Every holder of a stage runs a clone, so modules other than torch's must
// derive from torch::nn::Cloneable. Only parameters that require gradients are
// trained, in float32; buffers (running means) stay with their clone. torch's
// dropout draws from one generator for all threads: it is not repeatable, and
// differs when a forward is recomputed.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "chimera/model/layer.h"

namespace torch::nn {
class Module;
}

namespace chimera {

// Calls a module or a clone of it. As in Layer, the first layer gets an
// undefined tensor and reads context.batch, and the last returns the loss
// divided by context.batch.total.
using ModuleForward = std::function<at::Tensor(
    torch::nn::Module& module, const at::Tensor& x, const LayerContext&)>;

struct ModuleOptions {
  std::string name;  // prefix of the parameters' names
  std::shared_ptr<torch::nn::Module> module;
  ModuleForward forward;
  double forward_flops = 1;  // per sample, relative to other layers
};

[[nodiscard]] std::unique_ptr<Layer> make_module_layer(ModuleOptions options);

// A layer whose `forward` gets the module by its own type: forward(Impl&
// module, const at::Tensor& x, const LayerContext& context).
template <class Impl, class Forward>
[[nodiscard]] std::unique_ptr<Layer> make_module_layer(
    const std::string& name, std::shared_ptr<Impl> module, Forward forward) {
  return make_module_layer(
      {.name = name,
       .module = std::move(module),
       .forward = [forward = std::move(forward)](
                      torch::nn::Module& own, const at::Tensor& x,
                      const LayerContext& context) -> at::Tensor {
         return forward(dynamic_cast<Impl&>(own), x, context);
       }});
}

// A layer from a module with forward(tensor) -> tensor, such as
// torch::nn::Linear.
template <class Impl>
[[nodiscard]] std::unique_ptr<Layer> make_module_layer(
    const std::string& name, std::shared_ptr<Impl> module) {
  return make_module_layer(name, std::move(module),
                           [](Impl& own, const at::Tensor& x,
                              const LayerContext&) { return own.forward(x); });
}

}  // namespace chimera
