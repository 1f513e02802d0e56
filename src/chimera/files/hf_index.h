// Reads model.safetensors.index.json, which names the shard of each tensor.
//
//   {"metadata": {"total_size": 24656},
//    "weight_map": {"bert.pooler.dense.bias":
//    "model-00003-of-00004.safetensors"}}
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "chimera/base/result.h"

namespace chimera {

// Tensor name -> file name.
using HfIndex = std::map<std::string, std::string>;

// The index in `text`. ENSURES: every file is a plain name ending in
// .safetensors, so that the index cannot lead out of its directory.
[[nodiscard]] Result<HfIndex> parse_hf_index(std::string_view text,
                                             const std::string& file_name);

[[nodiscard]] std::string hf_index_text(const HfIndex& index,
                                        size_t total_bytes);

}  // namespace chimera
