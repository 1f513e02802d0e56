// Root mean square normalisation (Zhang and Sennrich 2019), as Hugging Face's
// LlamaRMSNorm computes it.
#pragma once

#include <ATen/core/Tensor.h>

namespace chimera {

// Returns x (..., C) / sqrt(mean(x^2) + eps) * weight (C), computed in the
// format of the weight and returned in that of x. Its backward keeps x and one
// number per row; composed of torch's operations it would keep four tensors of
// x's size.
[[nodiscard]] at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight,
                                  double eps);

}  // namespace chimera
