// Any torch::nn::Module as a layer, so that models of one's own can be cut
// into stages. A module owns its weights: it takes part in schedules that keep
// one version of them, and its backward is not split (W is empty).
//
// Every holder of a stage runs a clone: modules other than torch's own derive
// from torch::nn::Cloneable. Only parameters are trained, in float32, those
// that do not require gradients never; buffers (running means) stay with their
// clone. torch's own dropout draws from one generator for all threads: it is
// not repeatable, and not the same when a forward is recomputed.
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

// How a module, or a clone of it, is called. As in Layer, the first gets an
// undefined tensor and reads context.batch, and the last returns the loss over
// context.batch.total.
using ModuleForward = std::function<at::Tensor(
    torch::nn::Module& module, const at::Tensor& x, const LayerContext&)>;

struct ModuleOptions {
  std::string name;  // prefixes its parameters' names
  std::shared_ptr<torch::nn::Module> module;
  ModuleForward forward;
  double forward_flops = 1;  // of one sample, against the other layers'
};

[[nodiscard]] std::unique_ptr<Layer> make_module_layer(ModuleOptions options);

// The same by the module's own type, with
// forward(Impl& module, const at::Tensor& x, const LayerContext& context).
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

// Of a module that makes one tensor from another, such as torch::nn::Linear.
template <class Impl>
[[nodiscard]] std::unique_ptr<Layer> make_module_layer(
    const std::string& name, std::shared_ptr<Impl> module) {
  return make_module_layer(name, std::move(module),
                           [](Impl& own, const at::Tensor& x,
                              const LayerContext&) { return own.forward(x); });
}

}  // namespace chimera
