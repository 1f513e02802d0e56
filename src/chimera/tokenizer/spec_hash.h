// A hash that identifies a tokenizer.
#pragma once

#include <cstdint>

#include "chimera/tokenizer/tokenizer_spec.h"

namespace chimera {

// Hashes everything that affects the ids of a text.
[[nodiscard]] std::uint64_t hash_of(const TokenizerSpec& spec);

}  // namespace chimera
