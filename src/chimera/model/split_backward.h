// Linear and embedding layers whose backward comes in two halves: the gradient
// of the input, which the previous stage waits for, and that of the weights,
// which can be deferred (B = I, then W).
//
// Weight and bias gradients are added straight into their .grad, in place and
// without a temporary of the weight's size; a missing .grad is made first.
// Autograd itself sees no gradient for them. The sums have the same bits
// whether they are deferred or not. A .grad may be wider than its weight:
// gradients of bf16 weights are added up in float32.
#pragma once

#include <ATen/core/Tensor.h>

#include "chimera/model/weight_grad_queue.h"

namespace chimera {

enum class WeightLayout {
  kInOut,  // Hugging Face's Conv1D (GPT-2)
  kOutIn,  // torch.nn.Linear (BERT, and every output head)
};

struct LinearWeights {
  const at::Tensor& weight;
  const at::Tensor& bias;  // (out); may be undefined
  WeightLayout layout = WeightLayout::kOutIn;
};

// Maps x (..., in) to (..., out). If `deferred` is set, the work for the weight
// gradients is queued there instead of done in the backward.
[[nodiscard]] at::Tensor split_linear(const at::Tensor& x,
                                      const LinearWeights& weights,
                                      WeightGradQueue* deferred);

struct EmbeddingWeights {
  const at::Tensor& weight;       // (rows, C)
  std::int64_t padding_row = -1;  // row without a gradient; -1 = none
};

// Maps indices (...), int64, to rows (..., C).
[[nodiscard]] at::Tensor split_embedding(const at::Tensor& indices,
                                         const EmbeddingWeights& weights,
                                         WeightGradQueue* deferred);

}  // namespace chimera
