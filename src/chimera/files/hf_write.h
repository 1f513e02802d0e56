// Writes a Hugging Face directory that from_pretrained of GPT2LMHeadModel,
// BertForPreTraining or a model of the Llama family reads.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/files/hf_config.h"
#include "chimera/files/safetensors_write.h"

namespace chimera {

// A file beside the weights, such as those of a tokenizer.
struct HfExtraFile {
  std::string name;
  std::string text;
};

struct HfWriteOptions {
  // The most bytes of tensors per shard; a tensor is never split.
  size_t max_shard_bytes = 5'000'000'000;
  std::vector<HfExtraFile> extra = {};
};

// Writes the directory, which appears complete or not at all, even if the
// machine crashes. A tensor may be loaded more than once. Returns no
// diagnostics on success, or what is wrong with `path`: it must not exist, or
// be an empty directory. A shape without layers (user-defined ones) gets no
// config.json. Throws IoError. REQUIRES: `tensors` are those of `shape`, named
// as ExpectedTensor says.
[[nodiscard]] Diagnostics write_hf_directory(
    const std::string& path, const HfShape& shape,
    std::span<const TensorView> tensors, const HfWriteOptions& options = {});

}  // namespace chimera
