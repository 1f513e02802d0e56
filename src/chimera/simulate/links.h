// Directed links between workers, each carrying one thing at a time.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace chimera {

class Links {
 public:
  struct Use {
    double free_at = 0;      // when the link is next free
    std::int32_t last = -1;  // the event that occupies it until then
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
