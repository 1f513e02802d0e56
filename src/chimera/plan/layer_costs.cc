#include "chimera/plan/layer_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chimera/base/check.h"

namespace chimera {
namespace {

// Interpolates `values` at `size`. REQUIRES: lists of equal length, not empty;
// sizes ascend.
double at_size(const std::vector<double>& sizes,
               const std::vector<double>& values, double size) {
  if (size <= sizes.front() || sizes.size() == 1) {
    return values.front() * size / sizes.front();
  }
  const auto above = std::upper_bound(sizes.begin() + 1, sizes.end() - 1, size);
  const auto right = above - sizes.begin();
  const double slope =
      (values[right] - values[right - 1]) / (sizes[right] - sizes[right - 1]);
  const double value = values[right] + slope * (size - sizes[right]);
  // Noise may make the last two sizes fall, but more samples never take less
  // time.
  return std::max(value, values[right - 1]);
}

double attention_share(const LayerShape& shape) {
  const LayerFlops flops = forward_flops(shape);
  return flops.attention / flops.total();
}

}  // namespace

LayerSource source_of(const Profile& profile, const LayerShape& shape) {
  LayerSource best;
  for (const LayerProfile& layer : profile.layers) {
    if (!same_work(layer.shape, shape)) continue;
    if (best.layer == nullptr || best.layer->derived) best.layer = &layer;
  }
  if (best.layer != nullptr) return best;
  double least = std::numeric_limits<double>::infinity();
  for (const LayerProfile& layer : profile.layers) {
    if (layer.shape.kind != LayerKind::kBlock) continue;
    // Orders layers by precision first, then by whether they were measured,
    // then by attention share: shares differ by less than 1.
    const double distance =
        std::abs(attention_share(layer.shape) - attention_share(shape)) +
        (layer.derived ? 1 : 0) +
        (layer.shape.precision != shape.precision ? 2 : 0);
    if (distance >= least) continue;
    least = distance;
    best.layer = &layer;
  }
  CHIMERA_CHECK(best.layer != nullptr, "a profile has a block");
  best.same = false;
  best.scale =
      forward_flops(shape).total() / forward_flops(best.layer->shape).total();
  return best;
}

LayerCosts layer_costs(const Profile& profile, const LayerShape& shape,
                       int micro_batch) {
  const LayerSource source = source_of(profile, shape);
  const LayerTable& table = source.layer->table;
  const double size = micro_batch * source.scale;
  const auto measured = [&](const std::vector<double>& values) {
    return at_size(table.micro_batch, values, size);
  };
  const double factor =
      shape.kind == LayerKind::kBlock
          ? profile.block_factor[static_cast<size_t>(shape.model)]
          : 1;
  LayerCosts costs{.forward_s = factor * measured(table.forward_s),
                   .input_grad_s = factor * measured(table.input_grad_s),
                   .weight_grad_s = factor * measured(table.weight_grad_s)};
  const auto bytes = [&](const std::vector<double>& values, double estimate) {
    return source.same && !values.empty() ? measured(values)
                                          : estimate * micro_batch;
  };
  costs.activation_bytes =
      bytes(table.activation_bytes, estimated_activation_bytes(shape));
  costs.workspace_bytes =
      bytes(table.workspace_bytes, estimated_workspace_bytes(shape));
  // If the profile lacks it, W is assumed to free as much as a whole backward.
  costs.is_deferred_measured = source.same && !table.deferred_bytes.empty();
  costs.deferred_bytes =
      bytes(table.deferred_bytes, costs.activation_bytes / micro_batch);
  costs.input_workspace_bytes =
      bytes(table.input_workspace_bytes, costs.workspace_bytes / micro_batch);
  return costs;
}

std::string describe(const LayerSource& source) {
  if (!source.same) return source.layer->name + ", scaled by FLOPs";
  return source.layer->name + (source.layer->derived ? " (derived)" : "");
}

}  // namespace chimera
