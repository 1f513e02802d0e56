// A cache of encoded words. If two words share a slot, the later one stays;
// words too long for a slot are not cached.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "chimera/tokenizer/bpe.h"

namespace chimera {

class WordCache {
 public:
  static constexpr size_t kLongestWord = 23;

  // A word as numbers: its bytes, zeros, and its length in the last byte.
  using Key = std::array<std::uint64_t, 3>;
  // REQUIRES: 0 < word.size() <= kLongestWord.
  [[nodiscard]] static Key key_of(std::string_view word) {
    Key key{};
    std::memcpy(key.data(), word.data(), word.size());
    key[2] |= std::uint64_t{word.size()} << 56;
    return key;
  }

  // Appends the tokens of a word; false if it is not cached.
  bool find(const Key& key, std::vector<TokenId>& ids) const {
    const Slot& slot = slots_[place(key)];
    if (slot.key != key) return false;
    ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
    return true;
  }

  void keep(const Key& key, std::span<const TokenId> ids) {
    Slot& slot = slots_[place(key)];
    if (ids.size() > slot.ids.size()) return;
    slot.key = key;
    slot.count = static_cast<std::uint32_t>(ids.size());
    std::copy(ids.begin(), ids.end(), slot.ids.begin());
  }

 private:
  struct alignas(64) Slot {
    Key key{};
    std::array<TokenId, 9> ids{};
    std::uint32_t count = 0;
  };
  static constexpr int kBits = 15;

  [[nodiscard]] static size_t place(const Key& key) {
    const std::uint64_t mixed =
        (key[0] ^ key[1] * 0xA0761D6478BD642FU ^ key[2] * 0xE7037ED1A0B428DBU) *
        0x9E3779B97F4A7C15U;
    return mixed >> (64 - kBits);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(size_t{1} << kBits);
};

}  // namespace chimera
