// WordPiece: takes the longest token that the word starts with, then the
// longest that continues it, up to its end. A word that cannot be covered is
// unknown.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chimera/tokenizer/bpe.h"

namespace chimera {

struct WordPieceOptions {
  TokenId unknown = 0;
  std::string prefix = "##";     // prefix of tokens that continue a word
  size_t most_characters = 100;  // longer words are unknown
};

class WordPieceModel {
 public:
  WordPieceModel(std::unordered_map<std::string, TokenId> tokens,
                 WordPieceOptions options);

  // Appends the tokens of a word. REQUIRES: !word.empty(), valid UTF-8.
  void encode(std::string_view word, std::vector<TokenId>& ids) const;

 private:
  // REQUIRES: ids.empty().
  bool cover(std::string_view word, std::vector<TokenId>& ids) const;

  std::unordered_map<std::string, TokenId> tokens_;
  WordPieceOptions options_;
  size_t longest_ = 0;  // bytes of the longest token
};

// Joins tokens to text: a blank before each that starts a word. `cleanup`
// removes the blanks that Hugging Face removes from decoded English.
[[nodiscard]] std::string join_word_pieces(
    const std::vector<std::string>& tokens, const std::string& prefix,
    bool cleanup);

}  // namespace chimera
