// The loss of a head.
#pragma once

#include <ATen/core/Tensor.h>

namespace chimera {

// The sum of the cross entropies of logits (N, classes) and targets (N), a
// scalar; targets of kIgnoredTarget do not count. Always computed in float32 at
// least: bf16 logits are widened block by block, so that there is never a
// second copy of them.
[[nodiscard]] at::Tensor cross_entropy_sum(const at::Tensor& logits,
                                           const at::Tensor& targets);

}  // namespace chimera
