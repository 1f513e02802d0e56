#include "chimera/config/toml_guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "chimera/base/text.h"

namespace chimera {
namespace {

// A run.toml has a few kilobytes; one with a list of 2,048 stages, twenty.
constexpr std::size_t kMostBytes = 256 * 1024;

// Keys of run.toml have two parts; the rest is room for numbers in odd places.
constexpr int kMostDots = 64;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kNone = std::string_view::npos;

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// True if the string that opens at `begin` may span several lines.
bool is_long_string(std::string_view text, std::size_t begin) {
  return text.substr(begin, 3) == std::string(3, text[begin]);
}

// The position behind the string that opens at `begin`; kNone if it does not
// close.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const bool is_long = is_long_string(text, begin);
  const std::string quotes(is_long ? 3 : 1, text[begin]);
  for (std::size_t at = begin + quotes.size(); at < text.size(); ++at) {
    if (!is_long && text[at] == '\n') return kNone;
    if (text.substr(at, quotes.size()) == quotes) {
      std::size_t end = at + quotes.size();
      // A long string may itself end in one or two quotes, which stand before
      // the three that close it.
      while (is_long && end < at + 5 && end < text.size() &&
             text[end] == quotes[0]) {
        ++end;
      }
      return end;
    }
    const bool escapes = quotes[0] == '"' && text[at] == '\\';
    if (escapes && text.substr(at + 1, 1) != "\n") ++at;
  }
  return kNone;
}

// True if a quote at `at` opens a string: a value, a key or a part of a key can
// begin there.
bool can_open_string(std::string_view text, std::size_t at) {
  return at == 0 || std::string_view(" \t\n=[{,.").find(text[at - 1]) != kNone;
}

// Returns `text` with every comment blanked and every string replaced by a row
// of x, line for line. Other characters than ASCII are kept in long strings,
// because toml++ fails on them there as well, behind a backslash. The result
// ends with the line on which toml++ must give up: a string does not close, or
// a quote stands in the middle of a word.
std::string bare_text(std::string_view text) {
  std::string bare(text);
  std::size_t at = 0;
  while (at < text.size()) {
    const bool is_comment = text[at] == '#';
    if (!is_comment && text[at] != '"' && text[at] != '\'') {
      ++at;
      continue;
    }
    const std::size_t line_end = text.find('\n', at);
    const bool is_long = !is_comment && is_long_string(text, at);
    const std::size_t end = is_comment ? line_end : end_of_string(text, at);
    if (!is_comment && (end == kNone || !can_open_string(text, at))) {
      return is_long ? bare : bare.substr(0, line_end);
    }
    for (; at < std::min(end, text.size()); ++at) {
      const bool keep = text[at] == '\n' || (is_long && !is_ascii(text[at]));
      if (!keep) bare[at] = is_comment ? ' ' : 'x';
    }
  }
  return bare;
}

bool is_digit(char c) { return (c >= '0' && c <= '9') || c == '_'; }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// True for the point of a single number: the dot of `1.5`, but none of `1.1.1`.
bool is_decimal_point(std::string_view line, std::size_t dot) {
  std::size_t left = dot;
  while (left > 0 && is_digit(line[left - 1])) --left;
  std::size_t right = dot + 1;
  while (right < line.size() && is_digit(line[right])) ++right;
  if (left == dot || right == dot + 1) return false;
  while (left > 0 && is_blank(line[left - 1])) --left;
  while (right < line.size() && is_blank(line[right])) ++right;
  const bool dot_before = left > 0 && line[left - 1] == '.';
  const bool dot_after = right < line.size() && line[right] == '.';
  return !dot_before && !dot_after;
}

// An upper bound of the dots in the longest dotted key on `line`.
int dots_of_keys(std::string_view line) {
  int count = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '.' && !is_decimal_point(line, at)) ++count;
  }
  return count;
}

std::optional<Diagnostic> refuse_line(std::string_view line) {
  if (dots_of_keys(line) > kMostDots) {
    return Diagnostic{
        .code = "E002",
        .where = "",
        .found = "the line " + shown(line),
        .needed = fmt::format("must have at most {} dots", kMostDots),
        .hint = "a key is written section.key"};
  }
  if (!std::all_of(line.begin(), line.end(), is_ascii)) {
    return Diagnostic{.code = "E001",
                      .where = "",
                      .found = "a character that is not ASCII",
                      .needed = "must stand in plain quotes",
                      .hint = "typographic quotes do not count, use \""};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Diagnostic> refuse_unsafe_toml(std::string_view text,
                                             const std::string& file_name) {
  if (text.size() > kMostBytes) {
    return Diagnostic{.code = "E002",
                      .where = file_name,
                      .found = fmt::format("{} bytes", text.size()),
                      .needed = fmt::format("must be at most {}", kMostBytes),
                      .hint = "is this the right file?"};
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(3);
  const std::string bare = bare_text(text);
  std::size_t number = 0;
  for (const std::string_view line : split(bare, '\n')) {
    ++number;
    if (auto refusal = refuse_line(line)) {
      refusal->where = fmt::format("{}:{}", file_name, number);
      return refusal;
    }
  }
  return std::nullopt;
}

}  // namespace chimera
