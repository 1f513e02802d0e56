// A Batch as tensors, for the first and the last layer of a model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "chimera/data/batch.h"

namespace chimera {

struct TensorBatch {
  at::Tensor inputs;         // (B, T); int64 like all except `sees`
  at::Tensor targets;        // (B, T)
  at::Tensor host_targets;   // copy of the targets in host memory
  at::Tensor token_types;    // (B, T); undefined unless BERT
  at::Tensor next_sentence;  // (B); undefined unless BERT
  at::Tensor positions;      // (B, T); undefined: 0 .. T - 1
  // (B, 1, T, T), bool: whether a position may see another, causality aside.
  // Undefined: every position may see all others.
  at::Tensor sees;
  std::vector<std::int64_t> sample_ids;  // (B)
  TargetCount total;  // of the whole mini-batch, not of these samples
};

// Copies `host`, a tensor of the CPU, to `device`, without making the host wait
// for it. Returns `host` itself if `device` is the CPU.
[[nodiscard]] at::Tensor to_device(const at::Tensor& host, at::Device device);

// Copies `batch`, which may be destroyed afterwards.
[[nodiscard]] TensorBatch to_tensors(const Batch& batch,
                                     const TargetCount& total,
                                     at::Device device = at::kCPU);

// Samples first .. first + count - 1, sharing memory with `batch`.
[[nodiscard]] TensorBatch slice(const TensorBatch& batch, std::int64_t first,
                                std::int64_t count);

}  // namespace chimera
