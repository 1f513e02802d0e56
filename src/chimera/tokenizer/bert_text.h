// BERT's way to clean text and to cut it into words.
#pragma once

#include <string>
#include <string_view>

namespace chimera {

struct BertNormalizer {
  bool clean_text = true;            // no control characters, plain blanks
  bool handle_chinese_chars = true;  // blanks around ideographs
  bool strip_accents = true;
  bool lowercase = true;

  bool operator==(const BertNormalizer&) const = default;
};

// REQUIRES: sound UTF-8.
[[nodiscard]] std::string bert_normalized(std::string_view text,
                                          const BertNormalizer& options);

// The first word of text[at..] (a punctuation character, or what lies between
// spaces and punctuation), empty if none is left; `at` moves behind it.
// REQUIRES: sound UTF-8.
[[nodiscard]] std::string_view next_bert_word(std::string_view text,
                                              size_t& at);

}  // namespace chimera
