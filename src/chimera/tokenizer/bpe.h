// Byte-pair encoding. A word starts as its bytes; repeatedly, the neighbouring
// pair with the lowest merge rank (the leftmost of equals) is joined.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chimera {

using TokenId = std::uint32_t;

struct Merge {
  TokenId left = 0, right = 0;
  TokenId product = 0;
};

// Treatment of bytes that have no token.
struct UnknownBytes {
  std::optional<TokenId> id;  // if empty, such bytes are dropped
  bool fuse = false;          // consecutive unknown bytes become one token
};

class BpeModel {
 public:
  // `bytes`: the token of each byte. `merges`: in order of rank; if a pair
  // occurs twice, the later one counts. `whole_words`: words that are one
  // token, whatever the merges would make of them.
  BpeModel(const std::array<std::optional<TokenId>, 256>& bytes,
           std::span<const Merge> merges,
           std::unordered_map<std::string, TokenId> whole_words,
           UnknownBytes unknown);

  // Appends the tokens of a word. REQUIRES: !word.empty().
  void encode(std::string_view word, std::vector<TokenId>& ids) const;

 private:
  // An open-addressing table from a pair of tokens to its merge.
  struct Slot {
    std::uint64_t pair = kNone;
    std::uint32_t rank = kNeverMerged;
    TokenId product = 0;
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::uint32_t kNeverMerged = ~std::uint32_t{0};

  [[nodiscard]] size_t slot_of(TokenId left, TokenId right) const;
  [[nodiscard]] std::uint32_t rank_of(TokenId left, TokenId right) const {
    return slots_[slot_of(left, right)].rank;
  }
  void split(std::string_view word, std::vector<TokenId>& ids) const;
  [[nodiscard]] size_t merge_short(std::span<TokenId> ids) const;
  [[nodiscard]] size_t merge_long(std::span<TokenId> ids) const;

  std::array<std::optional<TokenId>, 256> bytes_;
  std::vector<Slot> slots_;  // a power of two, at least twice the merges
  int shift_ = 0;
  std::unordered_map<std::string, TokenId> whole_words_;
  UnknownBytes unknown_;
};

}  // namespace chimera
