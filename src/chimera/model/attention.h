// Multi-head attention between its projections, for GPT-2 and BERT.
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
  Dropout dropout;  // of the probabilities
};

// (B, T, C). libtorch's fused kernel where nothing is dropped; it would draw
// masks of its own.
[[nodiscard]] at::Tensor attention(const Projections& projections,
                                   const Attention& options,
                                   const LayerContext& context);

}  // namespace chimera
