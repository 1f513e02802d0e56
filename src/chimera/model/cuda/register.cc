// The operators of kernels.h for GPUs. Compiled against a CUDA build of torch
// only (the preset `cuda`); no GPU has run it yet.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "chimera/model/cuda/dropout_mask.h"

namespace chimera {
namespace {

void fill_dropout_mask_cuda(const at::Tensor& mask, at::IntArrayRef streams,
                            double rate) {
  const c10::cuda::CUDAGuard guard(mask.device());
  const std::int64_t size =
      mask.numel() / static_cast<std::int64_t>(streams.size());
  AT_DISPATCH_FLOATING_TYPES(mask.scalar_type(), "dropout", [&] {
    C10_CUDA_CHECK(launch_dropout_mask(mask.mutable_data_ptr<scalar_t>(), size,
                                       {streams.data(), streams.size()}, rate,
                                       c10::cuda::getCurrentCUDAStream()));
  });
}

at::Tensor sum_of_squares_cuda(const at::Tensor& numbers) {
  return at::linalg_vector_norm(numbers, 2, std::nullopt, /*keepdim=*/false,
                                at::kDouble)
      .square();
}

}  // namespace

TORCH_LIBRARY_IMPL(chimera, CUDA, library) {
  library.impl("fill_dropout_mask", &fill_dropout_mask_cuda);
  library.impl("sum_of_squares", &sum_of_squares_cuda);
}

}  // namespace chimera
