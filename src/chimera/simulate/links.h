// Directed links between workers; each carries one message or sum at a time.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace chimera {

class Links {
 public:
  struct Use {
    double free_at = 0;      // when the link is next free
    std::int32_t last = -1;  // event that occupies the link until then
  };

  Use& operator()(int from, int to) {
    return uses_[static_cast<std::uint64_t>(static_cast<std::uint32_t>(from))
                     << 32 |
                 static_cast<std::uint32_t>(to)];
  }

 private:
  std::unordered_map<std::uint64_t, Use> uses_;
};

}  // namespace chimera
