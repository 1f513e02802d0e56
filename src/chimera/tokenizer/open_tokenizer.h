// Finds and reads the files of a tokenizer.
#pragma once

#include <string>

#include "chimera/base/result.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

// `path` is a Hugging Face directory, a tokenizer.json, GPT-2's vocab.json or
// merges.txt (with the other one in the same folder), or BERT's vocab.txt.
[[nodiscard]] Result<Tokenizer> open_tokenizer(const std::string& path);

}  // namespace chimera
