// The alternatives of the patterns are tried in the order in which they stand:
//
//   GPT-2    '(?:[sdmt]|ll|ve|re)            contraction
//            | ?\p{L}+| ?\p{N}+              blank and letters, or numbers
//            | ?[^\s\p{L}\p{N}]+             blank and others
//            |\s+(?!\S)|\s+                  spaces, all but the last
//   Llama 3  (?i:'s|'t|'re|'ve|'m|'ll|'d)    contraction
//            |[^\r\n\p{L}\p{N}]?\p{L}+       any one character and letters
//            |\p{N}{1,3}                     numbers; Qwen: one
//            | ?[^\s\p{L}\p{N}]+[\r\n]*      blank, others and line ends
//            |\s*[\r\n]+|\s+(?!\S)|\s+       spaces up to the last line end
#include "chimera/tokenizer/pretokenize.h"

#include "chimera/tokenizer/unicode.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {
namespace {

constexpr int kKinds = kLetter | kNumber | kSpace;
constexpr int kOther = 0;  // neither letter, number nor space
constexpr int kEnd = -1;   // end of the text

// A character's class and its length in bytes.
struct Kind {
  int kind = kEnd;
  size_t length = 0;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text)
      : text_(text), classes_(char_classes().data()) {}

  [[nodiscard]] Kind kind_at(size_t at) const {
    if (at >= text_.size()) return {};
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return {classes_[byte] & kKinds, 1};
    const CodePoint code = code_point_at(text_, at);
    return {classes_[code.value] & kKinds, code.length};
  }

  // The end of the characters of one kind from `at` on.
  [[nodiscard]] size_t run_end(size_t at, int kind, size_t most = ~size_t{0}) {
    for (size_t count = 0; count < most; ++count) {
      const Kind next = kind_at(at);
      if (next.kind != kind) break;
      at += next.length;
    }
    return at;
  }

  [[nodiscard]] size_t line_ends(size_t at) const {
    while (at < text_.size() && is_line_end(text_[at])) ++at;
    return at;
  }

  // Number of bytes of a contraction after the apostrophe at text[at]; 0 if
  // none.
  [[nodiscard]] size_t contraction(size_t at, bool any_case) const {
    const auto letter = [&](size_t i) {
      const char c = at + i < text_.size() ? text_[at + i] : '\0';
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    };
    switch (letter(1)) {
      case 's':
      case 'd':
      case 'm':
      case 't':
        return 2;
      case 'l':
        return letter(2) == 'l' ? 3 : 0;
      case 'v':
      case 'r':
        return letter(2) == 'e' ? 3 : 0;
      default:
        break;
    }
    // The long s is an s of another case.
    return any_case && text_.substr(at + 1, 2) == "\xC5\xBF" ? 3 : 0;
  }

  // Implements \s+(?!\S)|\s+: takes all spaces but the last, which belongs to
  // the next word.
  [[nodiscard]] size_t spaces(size_t at) {
    const size_t end = run_end(at, kSpace);
    if (end == text_.size()) return end;
    const size_t last = end - code_point_before(text_, end).length;
    return last > at ? last : end;
  }

  [[nodiscard]] size_t gpt2(size_t at) {
    const Kind first = kind_at(at);
    if (text_[at] == '\'') {
      if (const size_t length = contraction(at, false)) return at + length;
    }
    if (text_[at] == ' ') {
      const Kind next = kind_at(at + 1);
      if (next.kind != kSpace && next.kind != kEnd) {
        return run_end(at + 1, next.kind);
      }
    }
    return first.kind == kSpace ? spaces(at) : run_end(at, first.kind);
  }

  [[nodiscard]] size_t llama(size_t at, size_t digits) {
    const Kind first = kind_at(at);
    if (first.kind == kLetter) return run_end(at, kLetter);
    if (first.kind == kNumber) return run_end(at, kNumber, digits);
    if (text_[at] == '\'') {
      if (const size_t length = contraction(at, true)) return at + length;
    }
    const Kind next = kind_at(at + first.length);
    if (!is_line_end(text_[at]) && next.kind == kLetter) {
      return run_end(at + first.length, kLetter);
    }
    if (text_[at] == ' ' && next.kind == kOther) ++at;
    if (kind_at(at).kind == kOther) return line_ends(run_end(at, kOther));
    const std::string_view blanks = text_.substr(at, run_end(at, kSpace) - at);
    const size_t last_line_end = blanks.find_last_of("\r\n");
    if (last_line_end != std::string_view::npos) return at + last_line_end + 1;
    return spaces(at);
  }

 private:
  static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

  std::string_view text_;
  const std::uint8_t* classes_;
};

struct KnownPattern {
  std::string_view regex;
  SplitPattern pattern;
};

constexpr KnownPattern kKnown[] = {
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     SplitPattern::kGpt2},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     SplitPattern::kGpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     SplitPattern::kLlama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     SplitPattern::kQwen},
};

}  // namespace

std::optional<SplitPattern> known_pattern(std::string_view regex) {
  for (const KnownPattern& known : kKnown) {
    if (known.regex == regex) return known.pattern;
  }
  return std::nullopt;
}

size_t word_end(SplitPattern pattern, std::string_view text, size_t at) {
  Scanner scanner(text);
  if (pattern == SplitPattern::kGpt2) return scanner.gpt2(at);
  return scanner.llama(at, pattern == SplitPattern::kLlama3 ? 3 : 1);
}

}  // namespace chimera
