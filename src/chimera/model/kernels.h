// Kernels of our own, as operators of libtorch (chimera::...): the device of
// their tensors decides which implementation runs, and on which stream.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace chimera {

// Fills `mask` (B, ...) with the factors of a dropout: 0 at `rate`, else
// 1 / (1 - rate). streams[sample] is the state of the sample's CounterRandom.
// The same on every device. REQUIRES: `mask` is contiguous.
void fill_dropout_mask(const at::Tensor& mask,
                       const std::vector<std::int64_t>& streams, double rate);

// The sum of the squares of `numbers` (n), in double and as a tensor of one
// number, so that the host need not wait for a device. On the CPU the same bits
// for any number of threads. REQUIRES: contiguous, whole grains (kShardGrain).
[[nodiscard]] at::Tensor sum_of_squares(const at::Tensor& numbers);

}  // namespace chimera
