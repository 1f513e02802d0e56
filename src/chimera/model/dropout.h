// Dropout whose masks are a function of (seed, step, sample, layer, site,
// element) and nothing else: the same for every cut, layout and micro-batch
// size, and again in a recomputation. The backward therefore draws its mask
// again instead of keeping it.
#pragma once

#include <ATen/core/Tensor.h>

#include "chimera/model/layer.h"

namespace chimera {

struct Dropout {
  double rate = 0;  // in [0, 1)
  int site = 0;     // index among the layer's dropouts
};

// Applies dropout to x (B, ...). Returns x itself at rate 0 or outside of
// training.
[[nodiscard]] at::Tensor dropout(const at::Tensor& x, const Dropout& options,
                                 const LayerContext& context);

}  // namespace chimera
