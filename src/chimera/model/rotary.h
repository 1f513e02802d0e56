// Rotary positions (Su et al. 2021): each pair of numbers of a query or key is
// turned by an angle that grows with its position. Frequencies are those of
// Hugging Face's rope types "default", "linear" and "llama3".
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "chimera/config/run_config.h"

namespace chimera {

// Cosines and sines of all angles, float32 as in transformers.
struct RotaryTable {
  at::Tensor cos, sin;  // (positions, head_dim)
};

[[nodiscard]] RotaryTable make_rotary_table(const LlamaShape& shape,
                                            std::int64_t positions);

// The table's rows of the given positions (B, T), the same for all heads: (B,
// 1, T, head_dim).
[[nodiscard]] RotaryTable rows_at(const RotaryTable& table,
                                  const at::Tensor& positions);

// Rotates x (B, H, T, head_dim); its first token takes row `first` of `table`.
[[nodiscard]] at::Tensor rotate(const at::Tensor& x, const RotaryTable& table,
                                std::int64_t first);

}  // namespace chimera
