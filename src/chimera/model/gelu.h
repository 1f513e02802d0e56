// The activation function of GPT-2.
#pragma once

#include <ATen/core/Tensor.h>

namespace chimera {

// gelu by tanh, element by element. In bf16, on CPUs that multiply bf16
// matrices, by a kernel of our own: libtorch's takes a tenth of a training
// step there.
[[nodiscard]] at::Tensor gelu_by_tanh(const at::Tensor& x);

}  // namespace chimera
