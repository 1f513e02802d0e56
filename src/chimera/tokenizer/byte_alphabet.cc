#include "chimera/tokenizer/byte_alphabet.h"

#include <array>

#include "chimera/base/text.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {
namespace {

constexpr char32_t kFirstSubstitute = 0x100;
constexpr char32_t kNumSubstitutes = 68;

bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
         byte >= 0xAE;
}

struct Alphabet {
  std::array<std::string, 256> letters;
  // -1 if the character stands for no byte.
  std::array<int, kFirstSubstitute + kNumSubstitutes> bytes;

  Alphabet() {
    bytes.fill(-1);
    char32_t substitute = kFirstSubstitute;
    for (int byte = 0; byte < 256; ++byte) {
      const char32_t code =
          is_printable(byte) ? static_cast<char32_t>(byte) : substitute++;
      append_utf8(code, letters[static_cast<size_t>(byte)]);
      bytes[code] = byte;
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet kAlphabet;
  return kAlphabet;
}

}  // namespace

const std::string& letter_of_byte(std::uint8_t byte) {
  return alphabet().letters[byte];
}

std::optional<std::string> bytes_of_letters(std::string_view token) {
  const auto& bytes = alphabet().bytes;
  std::string out;
  for (size_t at = 0; at < token.size();) {
    const CodePoint code = code_point_at(token, at);
    if (code.value >= bytes.size() || bytes[code.value] < 0) {
      return std::nullopt;
    }
    out.push_back(static_cast<char>(bytes[code.value]));
    at += code.length;
  }
  return out;
}

}  // namespace chimera
