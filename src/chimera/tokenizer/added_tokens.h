// Tokens that are searched for before the text is split into words, such as
// <|endoftext|>. The leftmost match wins, and of those the longest.
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
  bool lstrip = false;      // also consumes the spaces before it
  bool rstrip = false;      // also consumes the spaces after it
  bool normalized = false;  // searched for in the normalised text

  bool operator==(const AddedToken&) const = default;
};

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Consumer {
    // Text between two added tokens.
    std::function<void(std::string_view)> text;
    std::function<void(TokenId)> token;
  };
  // Gives the parts of a text in order. REQUIRES: valid UTF-8.
  void split(std::string_view text, const Consumer& consumer) const;

  // Whether a token consumes or contains spaces.
  [[nodiscard]] bool touches_spaces() const;

 private:
  struct Match {
    size_t length = 0;
    size_t token = 0;
  };
  [[nodiscard]] std::optional<Match> match_at(std::string_view text,
                                              size_t at) const;

  // The tokens as a trie whose root is node 0; children maps (node, byte) to a
  // child.
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<std::uint32_t, size_t> token_at_;  // [node]
  std::array<bool, 256> starts_{};                      // first bytes of tokens
};

}  // namespace chimera
