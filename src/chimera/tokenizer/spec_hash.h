// A number that tells tokenizers apart.
#pragma once

#include <cstdint>

#include "chimera/tokenizer/tokenizer_spec.h"

namespace chimera {

// The hash of all that decides which ids a text gets.
[[nodiscard]] std::uint64_t hash_of(const TokenizerSpec& spec);

}  // namespace chimera
