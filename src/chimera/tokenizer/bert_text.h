// Cleans text and splits it into words as BERT does.
#pragma once

#include <string>
#include <string_view>

namespace chimera {

struct BertNormalizer {
  bool clean_text = true;  // drop control characters, turn spaces into blanks
  bool handle_chinese_chars = true;  // put blanks around ideographs
  bool strip_accents = true;
  bool lowercase = true;

  bool operator==(const BertNormalizer&) const = default;
};

// REQUIRES: valid UTF-8.
[[nodiscard]] std::string bert_normalized(std::string_view text,
                                          const BertNormalizer& options);

// Returns the first word from text[at] on (a punctuation character, or what
// lies between spaces and punctuation) and moves `at` past it. Empty if no word
// is left. REQUIRES: valid UTF-8.
[[nodiscard]] std::string_view next_bert_word(std::string_view text,
                                              size_t& at);

}  // namespace chimera
