// Tokens that are looked for in the text before anything else is done to it,
// such as <|endoftext|>: of those that start leftmost the longest is taken.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chimera/tokenizer/bpe.h"

namespace chimera {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool lstrip = false;      // takes the spaces before it
  bool rstrip = false;      // takes the spaces behind it
  bool normalized = false;  // is looked for in the normalised text

  bool operator==(const AddedToken&) const = default;
};

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Consumer {
    std::function<void(std::string_view)> text;  // between two tokens
    std::function<void(TokenId)> token;
  };
  // Gives the parts of a text in order. REQUIRES: sound UTF-8.
  void split(std::string_view text, const Consumer& consumer) const;

  // Whether one of them takes, or holds, spaces.
  [[nodiscard]] bool touches_spaces() const;

 private:
  struct Match {
    size_t length = 0;
    size_t token = 0;
  };
  [[nodiscard]] std::optional<Match> match_at(std::string_view text,
                                              size_t at) const;

  // A trie; node 0 is its root. The child of a node by a byte.
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<std::uint32_t, size_t> token_at_;  // [node]
  std::array<bool, 256> starts_{};  // bytes with which a token starts
};

}  // namespace chimera
