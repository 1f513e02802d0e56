// Finds a model's tensors in a Hugging Face directory. Nothing may be missing,
// left over, of another shape or of integers, but for what is known to vary
// between files that mean the same model:
//
//   - the base model's names without "transformer." or "bert.";
//   - LayerNorm.gamma and .beta for .weight and .bias;
//   - buffers that are no weights: attention masks, position and type ids;
//   - a tied head that is stored all the same, if it equals what it is tied to
//     (or stored alone, in its place). In an untied BERT the head's bias is
//     cls.predictions.decoder.bias, if that is there: it is what is added;
//   - parts that the caller can do without, see may_be_missing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/files/hf_directory.h"

namespace chimera {

struct ExpectedTensor {
  std::string name;  // in full, as GPT2LMHeadModel or BertForPreTraining has it
  std::vector<std::int64_t> shape;
  // Only together with every other such tensor of its part, which are those
  // that share two words: "cls.predictions", "bert.pooler".
  bool may_be_missing = false;
};

struct MatchedTensors {
  // One for each expected tensor, in order; of a fresh one info is nullptr.
  std::vector<StoredTensor> tensors;
  std::vector<std::string> fresh;  // names that the directory does not have
};

// All mistakes at once, but no more than about twenty of them.
// ENSURES: shapes are as expected and types floating-point.
// REQUIRES: expected names are unique.
[[nodiscard]] Result<MatchedTensors> match_tensors(
    const HfDirectory& directory, std::span<const ExpectedTensor> expected);

}  // namespace chimera
