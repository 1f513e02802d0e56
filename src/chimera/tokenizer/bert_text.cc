#include "chimera/tokenizer/bert_text.h"

#include "chimera/tokenizer/unicode.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {
namespace {

// Calls change(code, class, bytes, out) for each code point.
template <class Change>
std::string changed(std::string_view text, const Change& change) {
  const ClassTable& classes = char_classes();
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = code_point_at(text, at);
    change(code.value, classes[code.value], text.substr(at, code.length), out);
    at += code.length;
  }
  return out;
}

std::string cleaned(std::string_view text) {
  return changed(text, [](char32_t, int kind, auto bytes, std::string& out) {
    if ((kind & kControl) != 0) return;
    out.append((kind & kSpace) != 0 ? " " : bytes);
  });
}

std::string with_blanks_around_ideographs(std::string_view text) {
  return changed(text, [](char32_t, int kind, auto bytes, std::string& out) {
    const bool ideograph = (kind & kIdeograph) != 0;
    if (ideograph) out += ' ';
    out.append(bytes);
    if (ideograph) out += ' ';
  });
}

std::string without_accents(std::string_view text) {
  return changed(nfd(text),
                 [](char32_t, int kind, auto bytes, std::string& out) {
                   if ((kind & kMark) == 0) out.append(bytes);
                 });
}

std::string lowercased(std::string_view text) {
  return changed(text, [](char32_t code, int, auto, std::string& out) {
    append_lowercase(code, out);
  });
}

}  // namespace

std::string bert_normalized(std::string_view text,
                            const BertNormalizer& options) {
  std::string out(text);
  if (options.clean_text) out = cleaned(out);
  if (options.handle_chinese_chars) out = with_blanks_around_ideographs(out);
  if (options.strip_accents) out = without_accents(out);
  if (options.lowercase) out = lowercased(out);
  return out;
}

std::string_view next_bert_word(std::string_view text, size_t& at) {
  const ClassTable& classes = char_classes();
  size_t first = at;
  for (; at < text.size();) {
    const CodePoint code = code_point_at(text, at);
    const int kind = classes[code.value];
    const bool ends = (kind & (kSpace | kPunctuation)) != 0;
    if (ends && at > first) break;
    at += code.length;
    if ((kind & kPunctuation) != 0) break;
    if (ends) first = at;
  }
  return text.substr(first, at - first);
}

}  // namespace chimera
