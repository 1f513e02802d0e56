// Writes a Hugging Face directory that GPT2LMHeadModel.from_pretrained or
// BertForPreTraining.from_pretrained reads.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "chimera/base/result.h"
#include "chimera/files/hf_config.h"
#include "chimera/files/safetensors_write.h"

namespace chimera {

struct HfWriteOptions {
  // Larger models are cut into shards of at most so many bytes of tensors; a
  // tensor is never cut.
  size_t max_shard_bytes = 5'000'000'000;
};

// The directory appears complete or not at all, also if the machine crashes. A
// tensor may be loaded more than once. Empty if it was written; what
// is wrong with `path` otherwise: it must not be there, or be empty. Throws
// IoError.
// REQUIRES: `tensors` are those of `shape`, named as ExpectedTensor says.
[[nodiscard]] Diagnostics write_hf_directory(
    const std::string& path, const HfShape& shape,
    std::span<const TensorView> tensors, const HfWriteOptions& options = {});

}  // namespace chimera
