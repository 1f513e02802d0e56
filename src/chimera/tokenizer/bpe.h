// Byte-pair encoding: a word starts as its bytes; of all neighbours that a
// merge joins, the pair of the lowest rank (the leftmost of equals) is joined
// first.
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

// What a byte without a token becomes.
struct UnknownBytes {
  std::optional<TokenId> id;  // none: it is left out
  bool fuse = false;          // a row of them becomes one
};

class BpeModel {
 public:
  // `bytes`: the token of each byte. `merges` in order of rank; of two for one
  // pair the later counts. `whole_words`: words that are a token by themselves,
  // whatever the merges would make of them.
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
