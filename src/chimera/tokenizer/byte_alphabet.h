// The alphabet in which byte-level vocabularies write bytes: 188 printable
// bytes stand for themselves as Latin-1 characters; the others are U+0100,
// U+0101, ... in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chimera {

// The character that stands for a byte, as UTF-8.
[[nodiscard]] const std::string& letter_of_byte(std::uint8_t byte);

// The bytes that a vocabulary's token stands for; nullopt if one of its
// characters stands for no byte. REQUIRES: valid UTF-8.
[[nodiscard]] std::optional<std::string> bytes_of_letters(
    std::string_view token);

}  // namespace chimera
