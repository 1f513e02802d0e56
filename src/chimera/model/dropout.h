// Dropout whose masks are a function of (seed, step, sample, layer, site,
// element) and nothing else: the same in every cut, layout and micro-batching,
// and again in a recomputation. So the backward draws its mask anew instead of
// keeping it.
#pragma once

#include <ATen/core/Tensor.h>

#include "chimera/model/layer.h"

namespace chimera {

struct Dropout {
  double rate = 0;  // in [0, 1)
  int site = 0;     // which dropout of the layer
};

// x (B, ...). Returns x itself at rate 0 or outside of training.
[[nodiscard]] at::Tensor dropout(const at::Tensor& x, const Dropout& options,
                                 const LayerContext& context);

}  // namespace chimera
