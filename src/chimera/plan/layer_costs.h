// What one layer takes on a machine, for any shape and micro-batch: measured
// where the profile knows the shape, else scaled by FLOPs.
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

  [[nodiscard]] double total_s() const {
    return forward_s + input_grad_s + weight_grad_s;
  }
};

// Which layer of a profile stands for a shape.
struct LayerSource {
  const LayerProfile* layer = nullptr;
  // 1: the same work. Else a micro-batch of b takes as long as one of scale * b
  // of `layer`: the same FLOPs.
  double scale = 1;
  bool same = true;
};

// The layer of the same work, measured before derived; otherwise the measured
// block whose share of attention in its FLOPs is nearest (heads and embeddings
// have none), since attention runs at another rate than matrix products.
[[nodiscard]] LayerSource source_of(const Profile& profile,
                                    const LayerShape& shape);

// Times are linear between the sizes of the table, proportional below the
// first, and go on as between the last two above. Bytes of a shape that is not
// in the profile are estimated (model_layers.h).
[[nodiscard]] LayerCosts layer_costs(const Profile& profile,
                                     const LayerShape& shape, int micro_batch);

// `gpt2-1280 (derived)`, `t5-large, scaled by FLOPs`: for reports.
[[nodiscard]] std::string describe(const LayerSource& source);

}  // namespace chimera
