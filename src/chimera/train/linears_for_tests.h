// A model of linear layers, for tests of user-defined layers.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "chimera/model/module_layer.h"
#include "chimera/train/own_model.h"
#include "chimera/train/setup.h"

namespace chimera::testing {

using Linears = std::vector<torch::nn::Linear>;
using Ids = std::vector<std::int64_t>;

inline constexpr int kSteps = 5;

// Makes one layer per stage, 3 wide and with 3 outputs.
inline Linears make_linears(int count) {
  torch::manual_seed(1);
  Linears linears;
  for (int i = 0; i < count; ++i) linears.emplace_back(3, 3);
  return linears;
}

inline at::Tensor inputs(const Ids& ids) {
  std::vector<at::Tensor> rows;
  for (const std::int64_t id : ids) {
    rows.push_back(at::arange(1, 4).mul(id).sin());
  }
  return at::stack(rows).to(at::kFloat);
}

inline at::Tensor squared_error(const at::Tensor& y, const Ids& ids) {
  return (y - inputs(ids).flip({1})).square().sum();
}

inline OwnModel model_from(const Linears& linears,
                           const std::string& name = "layer") {
  OwnModel own;
  for (std::size_t i = 0; i < linears.size(); ++i) {
    const bool first = i == 0;
    const bool last = i + 1 == linears.size();
    own.layers.push_back(make_module_layer(
        name + std::to_string(i), linears[i].ptr(),
        [first, last](torch::nn::LinearImpl& linear, const at::Tensor& x,
                      const LayerContext& context) {
          const Ids& ids = context.batch.sample_ids;
          const at::Tensor in = first ? inputs(ids) : x;
          const at::Tensor y =
              linear.forward(in.to(linear.weight.scalar_type())).tanh();
          if (!last) return y;
          return squared_error(y, ids) / context.batch.total.samples;
        }));
  }
  return own;
}

inline RunConfig config_of(const std::string& scheme) {
  RunConfig config;
  config.schedule = {.spec = {.scheme = scheme, .depth = 4, .micros = 4},
                     .micro_batch = 2};
  config.train = {.steps = kSteps, .lr = 0.01, .threads = 1};
  return config;
}

inline std::unique_ptr<RunSetup> setup_of(const RunConfig& config, OwnModel own,
                                          const SetupOptions& options = {}) {
  Result<std::unique_ptr<RunSetup>> setup =
      set_up(config, options, std::move(own));
  if (!setup) throw std::runtime_error(to_string(setup.errors()[0]));
  return std::move(setup).value();
}

}  // namespace chimera::testing
