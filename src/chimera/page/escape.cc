#include "chimera/page/escape.h"

#include <fmt/format.h>

#include <cstdint>

namespace chimera {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Length in bytes of the UTF-8 character at the start of `text`; 0 if there is
// none. (Overlong forms, surrogates and code points above U+10FFFF do not
// count.)
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<std::uint8_t>(text[i]);
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const std::uint8_t second = byte(1);
  const bool is_overlong =
      (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_beyond =
      (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return is_overlong || is_beyond ? 0 : length;
}

// Calls take(character) for each character, and with U+FFFD for each byte that
// is not part of one.
template <class Take>
void for_each_character(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const size_t length = character_length(text);
    take(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20) || c == 0x7f;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for_each_character(text, [&](std::string_view character) {
    const char c = character[0];
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (is_control(c) && c != '\n' && c != '\t') {
      out += kReplacement;
    } else {
      out += character;
    }
  });
  return out;
}

std::string script_string(std::string_view text) {
  std::string out = "\"";
  for_each_character(text, [&](std::string_view character) {
    const char c = character[0];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (is_control(c) || c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else if (character == "\xE2\x80\xA8") {  // line separator
      out += "\\u2028";
    } else if (character == "\xE2\x80\xA9") {  // paragraph separator
      out += "\\u2029";
    } else {
      out += character;
    }
  });
  return out + '"';
}

}  // namespace chimera
