// Unicode as Hugging Face's `tokenizers` knows it: properties, lower case and
// normal forms from unicode_tables.inc, which tools/unicode_tables.py wrote.
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
  kControl = 8,       // what BERT removes
  kPunctuation = 16,  // what BERT makes a word of its own
  kIdeograph = 32,    // what BERT puts blanks around
  kMark = 64,         // what BERT strips as an accent
  kUnsettled = 128,   // what NFC may change, move or join to what precedes it
};

// [code point]; bits of CharClass.
using ClassTable = std::array<std::uint8_t, 0x110000>;
[[nodiscard]] const ClassTable& char_classes();

// Appends the lower case of `code`.
void append_lowercase(char32_t code, std::string& out);

// Canonical decomposition and composition. REQUIRES: sound UTF-8.
[[nodiscard]] std::string nfd(std::string_view text);
[[nodiscard]] std::string nfc(std::string_view text);

// Whether nfc() may change `text`; false is certain.
[[nodiscard]] bool may_need_nfc(std::string_view text);

}  // namespace chimera
