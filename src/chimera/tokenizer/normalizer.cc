#include "chimera/tokenizer/normalizer.h"

#include "chimera/tokenizer/unicode.h"

namespace chimera {

std::string normalized(std::string_view text, const Normalizer& normalizer) {
  if (const auto* bert = std::get_if<BertNormalizer>(&normalizer)) {
    return bert_normalized(text, *bert);
  }
  if (std::holds_alternative<Nfc>(normalizer)) return nfc(text);
  return std::string(text);
}

bool may_change(std::string_view text, const Normalizer& normalizer) {
  if (std::holds_alternative<Nfc>(normalizer)) return may_need_nfc(text);
  return !std::holds_alternative<std::monostate>(normalizer);
}

}  // namespace chimera
