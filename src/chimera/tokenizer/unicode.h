// Unicode as in Hugging Face's `tokenizers`: properties, lower case and normal
// forms from unicode_tables.inc, which tools/unicode_tables.py generates.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace chimera {

// Bits of a code point's class.
enum CharClass : std::uint8_t {
  kLetter = 1,        // \p{L}
  kNumber = 2,        // \p{N}
  kSpace = 4,         // \s
  kControl = 8,       // BERT removes it
  kPunctuation = 16,  // BERT makes it a word
  kIdeograph = 32,    // BERT puts blanks around it
  kMark = 64,         // BERT strips it as an accent
  kUnsettled = 128,   // NFC may change, move or join it
};

// [code point]; bits of CharClass.
using ClassTable = std::array<std::uint8_t, 0x110000>;
[[nodiscard]] const ClassTable& char_classes();

// Appends the lower case of `code`.
void append_lowercase(char32_t code, std::string& out);

// Canonical decomposition and composition. REQUIRES: valid UTF-8.
[[nodiscard]] std::string nfd(std::string_view text);
[[nodiscard]] std::string nfc(std::string_view text);

// Returns false only if nfc() leaves `text` unchanged.
[[nodiscard]] bool may_need_nfc(std::string_view text);

}  // namespace chimera
