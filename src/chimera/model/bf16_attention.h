// Attention in bf16 on CPUs that multiply bf16 matrices. libtorch's fused
// kernel takes four times as long there: it multiplies in float32 in the
// backward.
#pragma once

#include <ATen/core/Tensor.h>

#include "chimera/model/kv_cache.h"

namespace chimera {

// True if bf16_attention can compute this input: bf16 on a CPU with
// has_bf16_products(), as many queries as keys, head widths that are multiples
// of 16.
[[nodiscard]] bool can_use_bf16_attention(const Projections& by_head);

// Computes the attention output (B, H, T, D) of a query (B, H, T, D), keys and
// values (B, H / n, T, D). Scores and softmax are float32, probabilities are
// rounded before they multiply the values. A sample's result does not depend on
// the batch that it is in, or on the number of threads.
// REQUIRES: can_use_bf16_attention(by_head).
[[nodiscard]] at::Tensor bf16_attention(const Projections& by_head,
                                        bool causal);

}  // namespace chimera
