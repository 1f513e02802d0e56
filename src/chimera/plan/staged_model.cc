#include "chimera/plan/staged_model.h"

#include <algorithm>

#include "chimera/plan/layer_costs.h"
#include "chimera/schedule/cut.h"

namespace chimera {
namespace {

constexpr double kFloat = 4;  // bytes

// A backward in two parts runs each at half the micro-batch.
LayerCosts costs_of(const Profile& profile, const LayerShape& shape,
                    const StagingOptions& options) {
  LayerCosts costs = layer_costs(profile, shape, options.micro_batch);
  if (options.parts == 1) return costs;
  const LayerCosts part =
      layer_costs(profile, shape, options.micro_batch / options.parts);
  costs.input_grad_s = part.input_grad_s * options.parts;
  costs.weight_grad_s = part.weight_grad_s * options.parts;
  costs.workspace_bytes = part.workspace_bytes;
  return costs;
}

// All blocks are alike: three lookups instead of one for every layer.
std::vector<LayerCosts> all_costs(const std::vector<ModelLayer>& layers,
                                  const Profile& profile,
                                  const StagingOptions& options) {
  std::vector<LayerCosts> costs;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const bool again =
        layer > 0 && layers[layer].shape == layers[layer - 1].shape;
    costs.push_back(again ? costs.back()
                          : costs_of(profile, layers[layer].shape, options));
  }
  return costs;
}

}  // namespace

int optimizer_numbers(OptimizerKind optimizer, double momentum) {
  if (optimizer != OptimizerKind::kSgd) return 2;
  return momentum > 0 ? 1 : 0;
}

StagedModel staged_model(const ModelShape& model, const Profile& profile,
                         const StagingOptions& options) {
  const std::vector<ModelLayer> layers = layers_of(model);
  const std::vector<LayerCosts> costs = all_costs(layers, profile, options);
  std::vector<double> work;
  work.reserve(costs.size());
  for (const LayerCosts& cost : costs) work.push_back(cost.total_s());

  StagedModel staged;
  staged.cut = balanced_cut(work, options.stages);
  staged.workspace_bytes.assign(options.stages, 0);
  const double numbers = optimizer_numbers(options.optimizer, options.momentum);
  for (int stage = 0; stage < options.stages; ++stage) {
    const bool last = stage + 1 == options.stages;
    const int end =
        last ? static_cast<int>(layers.size()) : staged.cut[stage + 1];
    StageCosts sum{.forward = 0, .input_grad = 0, .weight_grad = 0};
    double parameters = 0;
    for (int layer = staged.cut[stage]; layer < end; ++layer) {
      sum.forward += costs[layer].forward_s;
      sum.input_grad += costs[layer].input_grad_s;
      sum.weight_grad += costs[layer].weight_grad_s;
      sum.activation_bytes += costs[layer].activation_bytes;
      parameters += layers[layer].parameters;
      staged.workspace_bytes[stage] =
          std::max(staged.workspace_bytes[stage], costs[layer].workspace_bytes);
    }
    sum.update = parameters * profile.update_s_per_parameter;
    sum.weight_bytes = kFloat * parameters;
    sum.gradient_bytes = kFloat * parameters;
    sum.optimizer_bytes = kFloat * parameters * numbers;
    sum.boundary_bytes = last ? 0 : boundary_bytes(model) * options.micro_batch;
    staged.costs.stages.push_back(sum);
  }
  staged.costs.latency = profile.link.latency_s;
  staged.costs.time_per_byte = profile.link.s_per_byte;
  staged.costs.sums = SumCosts{profile.sum.latency_s, profile.sum.s_per_byte};
  return staged;
}

}  // namespace chimera
