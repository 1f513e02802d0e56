#include "chimera/base/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <version>

namespace chimera {

std::string join(const std::vector<std::string>& parts,
                 std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  const char* blanks = " \t\r";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

#ifdef __cpp_lib_to_chars

std::from_chars_result read_real(const char* first, const char* last,
                                 double& value) {
  return std::from_chars(first, last, value);
}

std::string number(double value) {
  // Twelve digits hide the rounding errors of sums of thirds and tenths.
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value,
                                          std::chars_format::general, 12);
  return error == std::errc() ? std::string(buffer, end) : "?";
}

#else  // libc++ 13 (Debian's emscripten) lacks from_chars of doubles

std::from_chars_result read_real(const char* first, const char* last,
                                 double& value) {
  // Unlike strtod, from_chars accepts no blank, plus sign or hexadecimal
  // digits.
  const std::string text(first, std::find_if(first, last, [](char c) {
                           return c == 'x' || c == 'X';
                         }));
  const char* begin = text.c_str();
  const bool is_signed = *begin == '-';
  const char head = begin[is_signed ? 1 : 0];
  if (head == '+' || head == ' ' || (head >= '\t' && head <= '\r')) {
    return {first, std::errc::invalid_argument};
  }
  char* end = nullptr;
  errno = 0;
  const double read = std::strtod(begin, &end);
  if (end == begin) return {first, std::errc::invalid_argument};
  const char* stop = first + (end - begin);
  if (errno == ERANGE) return {stop, std::errc::result_out_of_range};
  value = read;
  return {stop, std::errc()};
}

std::string number(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.12g", value);
  return buffer;
}

#endif

std::string json_string(std::string_view text) {
  static const char* kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

void append_utf8(char32_t code, std::string& out) {
  const auto tail = [&](unsigned shift) {
    out.push_back(static_cast<char>(0x80 | (code >> shift & 0x3F)));
  };
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

namespace {

// Levenshtein distance, one row at a time.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name,
                         const std::vector<std::string>& candidates) {
  if (name.size() > 64) return {};
  std::string best;
  size_t best_edits = std::max<size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edits(name, candidate);
    if (distance < best_edits) {
      best_edits = distance;
      best = candidate;
    }
  }
  return best;
}

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string out(text.substr(0, kLongest));
  for (char& c : out) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  if (text.size() > kLongest) out += "...";
  return out;
}

}  // namespace chimera
