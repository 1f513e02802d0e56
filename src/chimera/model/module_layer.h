// Any torch::nn::Module as a layer, so that models of one's own can be cut
// into stages. A module owns its weights: it takes part in schedules that keep
// one version of them, and its backward is not split (W is empty).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chimera/model/layer.h"

namespace torch::nn {
class Module;
}

namespace chimera {

// How a module is called. As in Layer, the first gets an undefined tensor and
// reads context.batch, and the last returns the loss over context.batch.total.
using ModuleForward =
    std::function<at::Tensor(const at::Tensor& x, const LayerContext&)>;

struct ModuleOptions {
  std::string name;  // prefixes its parameters' names
  std::shared_ptr<torch::nn::Module> module;
  ModuleForward forward;
  double forward_flops = 1;  // of one sample, against the other layers'
};

[[nodiscard]] std::unique_ptr<Layer> make_module_layer(ModuleOptions options);

}  // namespace chimera
