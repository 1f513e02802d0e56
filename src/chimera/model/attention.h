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

// Computes the attention output (B, T, H * D) of a query (B, H, T, D). Several
// query heads may share one key and value head: keys and values are (B, H / n,
// T, D). Without dropout this is one fused kernel, libtorch's or that of
// bf16_attention.h. With dropout it is not, because libtorch's draws its masks
// from another generator.
[[nodiscard]] at::Tensor attention_by_head(const Projections& by_head,
                                           const Attention& options,
                                           const LayerContext& context);

// Splits projections (B, T, C) into heads and computes their attention output
// (B, T, C).
[[nodiscard]] at::Tensor attention(const Projections& projections, int heads,
                                   const Attention& options,
                                   const LayerContext& context);

}  // namespace chimera
