#include "chimera/base/json_reader.h"

#include <charconv>
#include <cmath>

#include "chimera/base/text.h"

namespace chimera {
namespace {

constexpr unsigned kReplacement = 0xFFFD;

bool is_high_surrogate(unsigned code) { return code >> 10 == 0xD800 >> 10; }
bool is_low_surrogate(unsigned code) { return code >> 10 == 0xDC00 >> 10; }

}  // namespace

void JsonReader::refuse(const char* code, const std::string& found,
                        const std::string& needed, const std::string& hint) {
  errors_.push_back({.kind = codes_.kind,
                     .code = code,
                     .where = file_ + ":" + std::to_string(line_),
                     .found = found,
                     .needed = needed,
                     .hint = hint});
  constexpr size_t kEnough = 100;
  if (errors_.size() >= kEnough) failed_ = true;
}

void JsonReader::refuse_file(const char* code, const std::string& found,
                             const std::string& needed) {
  errors_.push_back({.kind = codes_.kind,
                     .code = code,
                     .where = file_,
                     .found = found,
                     .needed = needed});
}

void JsonReader::syntax(const std::string& needed) {
  if (failed_) return;
  const std::string found = at_ < text_.size()
                                ? "\"" + shown(text_.substr(at_, 12)) + "\""
                                : "the end of the text";
  refuse(codes_.syntax, found, needed);
  failed_ = true;
}

// Skips blanks and returns the next character; 0 at the end.
char JsonReader::peek() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return c;
    }
  }
  return 0;
}

bool JsonReader::open(char bracket, const std::string& name, const char* type) {
  if (failed_) return false;
  if (peek() != bracket) {
    wrong_type(name, type);
    return false;
  }
  ++at_;
  first_ = true;
  return true;
}

bool JsonReader::more(char closing) {
  const char c = peek();
  const bool first = first_;
  first_ = false;
  if (c == closing) {
    ++at_;
    return false;
  }
  if (first) return true;
  if (c != ',') {
    syntax(std::string("must be , or ") + closing);
    return false;
  }
  ++at_;
  return true;
}

std::string JsonReader::read_key() {
  if (peek() != '"') {
    syntax("must be a key in double quotes");
    return {};
  }
  std::string key = read_string();
  if (!failed_ && peek() != ':') syntax("must be : after a key");
  ++at_;
  return key;
}

std::optional<unsigned> JsonReader::read_hex() {
  unsigned value = 0;
  const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) {
    return std::nullopt;
  }
  at_ += 4;
  return value;
}

void JsonReader::read_escape(std::string& out) {
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (const size_t i = kNames.find(c); c != 0 && i != std::string_view::npos) {
    ++at_;
    out += kMeanings[i];
    return;
  }
  if (c != 'u') {
    syntax("is not an escape");
    return;
  }
  ++at_;
  const unsigned code = read_code_point();
  if (!failed_) append_utf8(code, out);
}

// Characters beyond 16 bits are written as two escapes, a surrogate pair; an
// unpaired half is not a character and becomes the replacement character.
unsigned JsonReader::read_code_point() {
  const std::optional<unsigned> code = read_hex();
  if (!code) {
    syntax("must be four hexadecimal digits");
    return 0;
  }
  if (is_low_surrogate(*code)) return kReplacement;
  if (!is_high_surrogate(*code)) return *code;
  if (text_.substr(at_, 2) != "\\u") return kReplacement;
  const size_t behind_first = at_;
  at_ += 2;
  const std::optional<unsigned> low = read_hex();
  if (low && is_low_surrogate(*low)) {
    return 0x10000 + ((*code & 0x3FF) << 10) + (*low & 0x3FF);
  }
  at_ = behind_first;
  return kReplacement;
}

// REQUIRES: the next character is an opening quote.
std::string JsonReader::read_string() {
  ++at_;
  std::string out;
  while (!failed_) {
    if (at_ >= text_.size() || text_[at_] == '\n') {
      syntax("must be a closing quote");
      break;
    }
    const char c = text_[at_++];
    if (c == '"') break;
    if (c == '\\') {
      read_escape(out);
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view JsonReader::read_bare() {
  const size_t begin = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool bare = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                      (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
                      c == '.';
    if (!bare) break;
    ++at_;
  }
  if (at_ == begin) syntax("must be a value");
  return text_.substr(begin, at_ - begin);
}

void JsonReader::wrong_type(const std::string& name, const char* needed) {
  const char c = peek();
  if (c == 0) {
    syntax(std::string("must be ") + needed);
    return;
  }
  std::string found = "a value";
  if (c == '{') found = "an object";
  if (c == '[') found = "an array";
  if (c == '"') found = "a string";
  refuse(codes_.type, name + " = " + found, std::string("must be ") + needed);
  skip();
}

// The text of a number; nullopt (and a recorded mistake) if the value is
// something else.
std::optional<std::string_view> JsonReader::read_digits(const std::string& name,
                                                        const char* type) {
  if (failed_) return std::nullopt;
  const char c = peek();
  if (c == '-' || (c >= '0' && c <= '9')) return read_bare();
  wrong_type(name, type);
  return std::nullopt;
}

std::optional<std::int64_t> JsonReader::integer64(const std::string& name) {
  const auto text = read_digits(name, "a whole number");
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error == std::errc() && stop == end) return value;
  const bool whole = error == std::errc::result_out_of_range && stop == end;
  refuse(whole ? codes_.range : codes_.type, name + " = " + shown(*text),
         whole ? "is out of range" : "must be a whole number");
  return std::nullopt;
}

std::optional<int> JsonReader::integer(const std::string& name) {
  const std::optional<std::int64_t> value = integer64(name);
  if (!value) return std::nullopt;
  const int narrow = static_cast<int>(*value);
  if (narrow == *value) return narrow;
  refuse(codes_.range, name + " = " + std::to_string(*value),
         "is out of range");
  return std::nullopt;
}

std::optional<double> JsonReader::real(const std::string& name) {
  const auto text = read_digits(name, "a number");
  if (!text) return std::nullopt;
  double value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = read_real(text->data(), end, value);
  if (error == std::errc() && stop == end && std::isfinite(value)) return value;
  const bool far = error == std::errc::result_out_of_range && stop == end;
  refuse(far ? codes_.range : codes_.type, name + " = " + shown(*text),
         far ? "is out of range" : "must be a number");
  return std::nullopt;
}

std::optional<bool> JsonReader::boolean(const std::string& name) {
  if (failed_) return std::nullopt;
  const char c = peek();
  const size_t begin = at_;
  if (c == 't' && read_bare() == "true") return true;
  if (c == 'f' && read_bare() == "false") return false;
  at_ = begin;
  wrong_type(name, "true or false");
  return std::nullopt;
}

bool JsonReader::null() {
  if (failed_ || peek() != 'n') return false;
  const size_t begin = at_;
  if (read_bare() == "null") return true;
  at_ = begin;
  return false;
}

std::optional<std::string> JsonReader::string(const std::string& name) {
  if (failed_) return std::nullopt;
  if (peek() != '"') {
    wrong_type(name, "a string");
    return std::nullopt;
  }
  std::string text = read_string();
  if (failed_) return std::nullopt;
  return text;
}

// Infinity and NaN are not JSON, but Python writes them.
void JsonReader::skip_bare() {
  const size_t begin = at_;
  const std::string_view text = read_bare();
  if (failed_ || text == "true" || text == "false" || text == "null") return;
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") return;
  double value = 0;
  const auto [stop, error] =
      read_real(text.data(), text.data() + text.size(), value);
  if (error != std::errc::invalid_argument &&
      stop == text.data() + text.size()) {
    return;
  }
  at_ = begin;
  syntax("must be a value");
}

void JsonReader::skip() {
  if (failed_) return;
  constexpr int kDeepest = 64;
  const char c = peek();
  if (c == '"') {
    read_string();
  } else if (c != '{' && c != '[') {
    skip_bare();
  } else if (++depth_ > kDeepest) {
    syntax("is nested too deeply");
  } else if (c == '{') {
    object("", [&](const std::string&) { skip(); });
  } else {
    array("", [&] { skip(); });
  }
  if (c == '{' || c == '[') --depth_;
}

void JsonReader::unknown_key(const std::string& key,
                             const std::vector<std::string>& known) {
  const std::string near = nearest_name(key, known);
  refuse(codes_.key, "key \"" + shown(key) + "\"", "is not known",
         near.empty() ? "one of " + join(known, ", ")
                      : "did you mean \"" + near + "\"?");
  if (!failed_) skip();
}

void JsonReader::finish() {
  const bool over = peek() == 0 && at_ == text_.size();
  if (!failed_ && !over) syntax("follows the end of the document");
}

}  // namespace chimera
