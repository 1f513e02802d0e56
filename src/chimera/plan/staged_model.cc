#include "chimera/plan/staged_model.h"

#include <algorithm>

#include "chimera/plan/layer_costs.h"
#include "chimera/schedule/cut.h"

namespace chimera {
namespace {

constexpr double kFloat = 4;  // bytes

// A backward in two parts runs each part at half the micro-batch size.
LayerCosts costs_of(const Profile& profile, const LayerShape& shape,
                    const StagingOptions& options) {
  LayerCosts costs = layer_costs(profile, shape, options.micro_batch);
  if (options.parts == 1) return costs;
  const LayerCosts part =
      layer_costs(profile, shape, options.micro_batch / options.parts);
  costs.input_grad_s = part.input_grad_s * options.parts;
  costs.weight_grad_s = part.weight_grad_s * options.parts;
  costs.workspace_bytes = part.workspace_bytes;
  costs.input_workspace_bytes = part.input_workspace_bytes;
  return costs;
}

// All blocks are alike, so three lookups are enough.
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

std::vector<int> cut_by_time(const std::vector<LayerCosts>& costs, int stages) {
  std::vector<double> work;
  work.reserve(costs.size());
  for (const LayerCosts& cost : costs) work.push_back(cost.total_s());
  return balanced_cut(work, stages);
}

// Sums over the layers of a stage, from first to last.
struct StageSum {
  StageCosts costs = {.forward = 0, .input_grad = 0, .weight_grad = 0};
  int layers = 0;
  double recompute_s = 0;  // time of the recomputed layers
  double kept_bytes = 0;   // of the others
  double parameters = 0;
  double workspace_bytes = 0;
  double input_workspace_bytes = 0;
  double deferred_bytes = 0;
  bool is_deferred_measured = true;

  // `gradient_bytes`: the gradient that one layer's backward passes to the
  // next.
  void add(const ModelLayer& layer, const LayerCosts& cost,
           const StagingOptions& options, double gradient_bytes) {
    const int parts = options.parts;
    const bool is_recomputed = layers++ < options.recompute.layers();
    (is_recomputed ? recompute_s : kept_bytes) +=
        is_recomputed ? cost.forward_s : cost.activation_bytes;
    costs.forward += cost.forward_s;
    costs.input_grad += cost.input_grad_s;
    costs.weight_grad += cost.weight_grad_s;
    costs.activation_bytes += cost.activation_bytes;
    deferred_bytes += cost.deferred_bytes;
    is_deferred_measured &= cost.is_deferred_measured;
    parameters += layer.parameters;
    // A backward starts at the last layer. What this layer kept is freed by the
    // time that it reaches the earlier layers.
    workspace_bytes = std::max(
        cost.workspace_bytes,
        workspace_bytes + (gradient_bytes - cost.activation_bytes) / parts);
    input_workspace_bytes = std::max(
        cost.input_workspace_bytes,
        input_workspace_bytes +
            (gradient_bytes + cost.deferred_bytes - cost.activation_bytes) /
                parts);
  }
};

void add_tied(const std::vector<ModelLayer>& layers, double numbers,
              double update_s, StagedModel& staged) {
  const double tied = layers.front().tied_parameters;
  std::vector<StageCosts>& stages = staged.costs.stages;
  if (stages.size() > 1) {
    staged.costs.tied_bytes = kFloat * tied;
    staged.costs.tied_update = tied * update_s;
    staged.tied_optimizer_bytes = kFloat * tied * numbers;
    return;
  }
  // A single stage holds the tied weight once, like its other weights.
  stages[0].update += tied * update_s;
  stages[0].weight_bytes += kFloat * tied;
  stages[0].gradient_bytes += kFloat * tied;
  stages[0].optimizer_bytes += kFloat * tied * numbers;
}

}  // namespace

int optimizer_numbers(OptimizerKind optimizer, double momentum) {
  if (optimizer != OptimizerKind::kSgd) return 2;
  return momentum > 0 ? 1 : 0;
}

std::vector<int> default_cut(const ModelShape& model, int stages) {
  std::vector<double> work;
  for (const ModelLayer& layer : layers_of(model)) {
    work.push_back(forward_flops(layer.shape).total());
  }
  return balanced_cut(work, stages);
}

StagedModel staged_model(const ModelShape& model, const Profile& profile,
                         const StagingOptions& options) {
  const std::vector<ModelLayer> layers = layers_of(model, options.precision);
  const std::vector<LayerCosts> costs = all_costs(layers, profile, options);
  const double boundary =
      boundary_bytes(model, options.precision) * options.micro_batch;
  const double numbers = optimizer_numbers(options.optimizer, options.momentum);
  const double update_s =
      profile.update_s_per_parameter / options.update_holders;
  StagedModel staged;
  if (options.precision == Precision::kBf16) {
    staged.rounded_share = number_bytes(options.precision) / kFloat;
  }
  staged.cut =
      options.cut.empty() ? cut_by_time(costs, options.stages) : options.cut;
  for (int stage = 0; stage < options.stages; ++stage) {
    const bool last = stage + 1 == options.stages;
    const int end =
        last ? static_cast<int>(layers.size()) : staged.cut[stage + 1];
    StageSum sum;
    for (int layer = staged.cut[stage]; layer < end; ++layer) {
      sum.add(layers[layer], costs[layer], options, boundary);
    }
    StageCosts& all = sum.costs;
    all.update = sum.parameters * update_s;
    all.weight_bytes = kFloat * sum.parameters;
    all.gradient_bytes = kFloat * sum.parameters;
    all.optimizer_bytes = kFloat * sum.parameters * numbers;
    all.boundary_bytes = last ? 0 : boundary;
    all.activation_bytes =
        std::max(0.0, all.activation_bytes - all.boundary_bytes);
    if (options.recompute) {
      all.recompute = sum.recompute_s;
      // The first layer that is kept also keeps its input.
      const bool keeps = options.recompute.layers() < sum.layers;
      const double kept =
          keeps ? sum.kept_bytes + boundary - all.boundary_bytes : 0;
      all.kept_bytes = std::clamp(kept, 0.0, all.activation_bytes);
    }
    const double whole = all.activation_bytes + (stage == 0 ? 0 : boundary);
    if (profile.omega) {
      sum.deferred_bytes = *profile.omega * whole;
      all.omega = *profile.omega;
    } else if (sum.is_deferred_measured && whole > 0) {
      all.omega = std::min(1.0, sum.deferred_bytes / whole);
    }
    staged.costs.stages.push_back(all);
    staged.workspace_bytes.push_back(sum.workspace_bytes);
    staged.input_workspace_bytes.push_back(sum.input_workspace_bytes);
    staged.deferred_bytes.push_back(sum.deferred_bytes);
  }
  add_tied(layers, numbers, update_s, staged);
  staged.costs.latency = profile.link.latency_s;
  staged.costs.time_per_byte = profile.link.s_per_byte;
  staged.costs.time_per_message = profile.link.s_per_message;
  staged.costs.blocking_sends = profile.link.blocking;
  staged.costs.sums = SumCosts{profile.sum.latency_s, profile.sum.s_per_byte,
                               profile.sum.node_s_per_byte};
  if (profile.node) {
    staged.costs.node =
        NodeCosts{profile.node->ranks, profile.node->latency_s,
                  profile.node->s_per_byte, profile.node->distribution};
  }
  return staged;
}

}  // namespace chimera
