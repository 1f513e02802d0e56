// Finds a model's tensors in a Hugging Face directory. No tensor may be
// missing, left over, of another shape or of an integer type, except for
// variations between files of the same model:
//
//   - the base model's names without "transformer.", "bert." or "model.";
//   - LayerNorm.gamma and .beta for .weight and .bias;
//   - buffers that are not weights: attention masks, position and type ids,
//     rotary frequencies;
//   - a tied head that is stored as well, if it equals the tensor it is tied to
//     (or is stored instead of it). In an untied BERT the head's bias is
//     cls.predictions.decoder.bias if it is stored: that is the one added;
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
  // The full name, as in GPT2LMHeadModel, BertForPreTraining or
  // LlamaForCausalLM.
  std::string name;
  std::vector<std::int64_t> shape;
  // True: the tensor may be missing if every such tensor of its part is. A part
  // is all tensors whose names share the first two words, such as
  // "cls.predictions" or "bert.pooler".
  bool may_be_missing = false;
};

struct MatchedTensors {
  // [expected]: the stored tensor; its info is nullptr for a tensor that is not
  // stored and gets fresh values.
  std::vector<StoredTensor> tensors;
  std::vector<std::string> fresh;  // names of tensors that are not stored
};

// Finds the stored tensor of each expected one, or returns all mistakes (about
// twenty are listed). ENSURES: shapes are as expected and types are
// floating-point. REQUIRES: expected names are unique.
[[nodiscard]] Result<MatchedTensors> match_tensors(
    const HfDirectory& directory, std::span<const ExpectedTensor> expected);

}  // namespace chimera
