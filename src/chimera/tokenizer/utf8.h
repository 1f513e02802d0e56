// Reads and writes UTF-8. Text from files may hold any bytes; code after
// repaired() sees valid UTF-8 only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chimera {

// A code point and its length in bytes.
struct CodePoint {
  char32_t value = 0;
  std::uint32_t length = 0;
};

// The code point at text[at]. REQUIRES: valid UTF-8, at < text.size().
[[nodiscard]] inline CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) {
    return {(first & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  }
  return {(first & 7) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
              (byte(3) & 0x3F),
          4};
}

// The code point that ends before text[end]. REQUIRES: valid UTF-8, end > 0.
[[nodiscard]] inline CodePoint code_point_before(std::string_view text,
                                                 size_t end) {
  size_t at = end - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return code_point_at(text, at);
}

// Returns `text` if it is valid UTF-8. Otherwise fills and returns `storage`,
// with U+FFFD in place of invalid bytes, exactly as Python's errors="replace".
[[nodiscard]] std::string_view repaired(std::string_view text,
                                        std::string& storage);

}  // namespace chimera
