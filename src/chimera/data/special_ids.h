// The ids of BERT's special tokens.
#pragma once

#include <string>

#include "chimera/base/result.h"
#include "chimera/data/masking.h"
#include "chimera/data/token_file.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

// Without a tokenizer: those of bert-base-uncased for .bin files whose
// vocabulary has them, otherwise control bytes that do not occur in text.
[[nodiscard]] SpecialIds special_ids(DataFormat format, int vocab);

// The tokenizer's own ids. Refuses (E506) a tokenizer that lacks any of them.
[[nodiscard]] Result<SpecialIds> special_ids(const Tokenizer& tokenizer,
                                             const std::string& path);

}  // namespace chimera
