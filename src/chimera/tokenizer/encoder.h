// Encodes text into token ids.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chimera/tokenizer/tokenizer.h"
#include "chimera/tokenizer/word_cache.h"

namespace chimera {

// Encodes with a tokenizer, which must outlive it. Caches words, so each thread
// needs its own Encoder.
class Encoder {
 public:
  explicit Encoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // Appends the ids of `text`, which may hold any bytes.
  void encode(std::string_view text, std::vector<TokenId>& ids);

 private:
  void encode_unmarked(std::string_view text, std::vector<TokenId>& ids);
  void encode_words(std::string_view text, std::vector<TokenId>& ids);
  void encode_word(std::string_view word, std::vector<TokenId>& ids);

  const Tokenizer& tokenizer_;
  WordCache cache_;
  std::string repaired_, normalized_, prefixed_;
};

}  // namespace chimera
