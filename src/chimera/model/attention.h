// Multi-head attention without its projections, for GPT-2 and BERT.
#pragma once

#include <ATen/core/Tensor.h>

#include "chimera/model/dropout.h"
#include "chimera/model/layer.h"

namespace chimera {

struct Projections {
  at::Tensor query, key, value;  // (B, T, C)
};

struct Attention {
  int heads = 0;
  bool causal = false;
  Dropout dropout;  // applied to the attention probabilities
};

// The attention output (B, T, C). Without dropout libtorch's fused kernel
// computes it; with dropout that kernel cannot, because it would draw its masks
// from another generator.
[[nodiscard]] at::Tensor attention(const Projections& projections,
                                   const Attention& options,
                                   const LayerContext& context);

}  // namespace chimera
