// The costs of one layer on a machine, for any shape and micro-batch: measured
// if the profile has the shape, otherwise scaled by FLOPs.
#pragma once

#include <string>

#include "chimera/plan/profile.h"

namespace chimera {

struct LayerCosts {
  double forward_s = 0;
  double input_grad_s = 0;
  double weight_grad_s = 0;
  double activation_bytes = 0;
  double workspace_bytes = 0;
  double deferred_bytes = 0;
  bool is_deferred_measured = false;
  double input_workspace_bytes = 0;  // of I in a split backward

  [[nodiscard]] double total_s() const {
    return forward_s + input_grad_s + weight_grad_s;
  }
};

// The layer of a profile that stands for a shape.
struct LayerSource {
  const LayerProfile* layer = nullptr;
  // 1 if the layer does the same work. Otherwise a micro-batch of b samples
  // takes as long as scale * b samples of `layer`, which need the same FLOPs.
  double scale = 1;
  bool same = true;
};

// Finds the layer that stands for `shape`. A layer of the same work comes
// first, measured ones before derived ones. Otherwise it is a block, of the
// same precision and measured where there is one, with the nearest share of
// attention in its FLOPs (0 for heads and embeddings), since attention runs at
// another rate than matrix products.
[[nodiscard]] LayerSource source_of(const Profile& profile,
                                    const LayerShape& shape);

// Costs of a layer at a micro-batch size. Times are interpolated linearly
// between the sizes of the table, proportional below the first, and
// extrapolated from the last two above. Bytes of a shape that is not in the
// profile are estimated (model_layers.h).
[[nodiscard]] LayerCosts layer_costs(const Profile& profile,
                                     const LayerShape& shape, int micro_batch);

// Describes the source in reports: `gpt2-1280 (derived)`, `t5-large, scaled by
// FLOPs`.
[[nodiscard]] std::string describe(const LayerSource& source);

}  // namespace chimera
