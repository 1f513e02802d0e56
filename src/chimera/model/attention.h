// Multi-head attention without its projections.
#pragma once

#include <ATen/core/Tensor.h>

#include "chimera/model/dropout.h"
#include "chimera/model/layer.h"

namespace chimera {

struct Attention {
  bool causal = false;
  Dropout dropout;  // applied to the attention probabilities
};

// The attention output (B, T, H * D) of a query (B, H, T, D); several heads of
// it may share a key and value (B, H / n, T, D). Without dropout libtorch's
// fused kernel computes it; with dropout that kernel cannot, because it would
// draw its masks from another generator.
[[nodiscard]] at::Tensor attention_by_head(const Projections& by_head,
                                           const Attention& options,
                                           const LayerContext& context);

// The same (B, T, C) of projections (B, T, C).
[[nodiscard]] at::Tensor attention(const Projections& projections, int heads,
                                   const Attention& options,
                                   const LayerContext& context);

}  // namespace chimera
