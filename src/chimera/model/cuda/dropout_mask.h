// The kernel of chimera::fill_dropout_mask for GPUs. Plain pointers, so that
// nvcc reads nothing of torch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace chimera {

struct DropoutStreams {
  const std::int64_t* states;  // [sample], in host memory
  std::size_t samples;
};

// As fill_dropout_mask, on `stream`. `mask` is memory of the current device:
// streams.samples of `size` elements each. T is float or double.
template <class T>
[[nodiscard]] cudaError_t launch_dropout_mask(T* mask, std::int64_t size,
                                              const DropoutStreams& streams,
                                              double rate, cudaStream_t stream);

}  // namespace chimera
