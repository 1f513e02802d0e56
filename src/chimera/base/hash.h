// FNV-1a: the same number for the same bytes on every machine and build. It
// detects accidental differences; it does not resist crafted input.
#pragma once

#include <cstdint>
#include <string_view>

namespace chimera {

[[nodiscard]] constexpr std::uint64_t hash_of(
    std::string_view bytes, std::uint64_t seed = 14695981039346656037ULL) {
  std::uint64_t hash = seed;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1099511628211ULL;
  }
  return hash;
}

}  // namespace chimera
