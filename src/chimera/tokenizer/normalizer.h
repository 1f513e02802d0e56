// What is done to text before it is cut into words.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "chimera/tokenizer/bert_text.h"

namespace chimera {

struct Nfc {
  bool operator==(const Nfc&) const = default;
};
// monostate: text stays as it is.
using Normalizer = std::variant<std::monostate, Nfc, BertNormalizer>;

// REQUIRES: sound UTF-8.
[[nodiscard]] std::string normalized(std::string_view text,
                                     const Normalizer& normalizer);

// Whether normalized() may change `text`; false is certain.
[[nodiscard]] bool may_change(std::string_view text,
                              const Normalizer& normalizer);

}  // namespace chimera
