// Normalisation of text before it is split into words.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "chimera/tokenizer/bert_text.h"

namespace chimera {

struct Nfc {
  bool operator==(const Nfc&) const = default;
};
// std::monostate leaves text unchanged.
using Normalizer = std::variant<std::monostate, Nfc, BertNormalizer>;

// REQUIRES: valid UTF-8.
[[nodiscard]] std::string normalized(std::string_view text,
                                     const Normalizer& normalizer);

// Returns false only if normalized() leaves `text` unchanged.
[[nodiscard]] bool may_change(std::string_view text,
                              const Normalizer& normalizer);

}  // namespace chimera
