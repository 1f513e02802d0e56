// UTF-8 in and out. Text from files may hold any bytes; everything behind
// repaired() sees sound UTF-8 only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chimera {

// A code point and how many bytes it takes.
struct CodePoint {
  char32_t value = 0;
  std::uint32_t length = 0;
};

// The code point at text[at]. REQUIRES: sound UTF-8, at < text.size().
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

// The code point that ends before text[end]. REQUIRES: sound UTF-8, end > 0.
[[nodiscard]] inline CodePoint code_point_before(std::string_view text,
                                                 size_t end) {
  size_t at = end - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return code_point_at(text, at);
}

// `text` if it is sound UTF-8; otherwise `storage`, which gets U+FFFD for each
// longest beginning of a character that does not go on, and for each byte that
// begins none: as Python's errors="replace".
[[nodiscard]] std::string_view repaired(std::string_view text,
                                        std::string& storage);

}  // namespace chimera
