#include "chimera/tokenizer/text_cut.h"

#include <algorithm>
#include <string>
#include <vector>

#include "chimera/base/text.h"
#include "chimera/tokenizer/unicode.h"

namespace chimera {
namespace {

// All space characters as UTF-8. None is longer than three bytes.
const std::vector<std::string>& spaces() {
  static const std::vector<std::string> kSpaces = [] {
    std::vector<std::string> found;
    for (char32_t code = 0; code < char_classes().size(); ++code) {
      if ((char_classes()[code] & kSpace) == 0) continue;
      append_utf8(code, found.emplace_back());
    }
    return found;
  }();
  return kSpaces;
}

bool ends_with_space(std::string_view text) {
  return std::any_of(spaces().begin(), spaces().end(),
                     [&](const auto& space) { return text.ends_with(space); });
}

bool starts_with_space(std::string_view text) {
  return std::any_of(spaces().begin(), spaces().end(), [&](const auto& space) {
    return text.starts_with(space);
  });
}

// True if text[at] is a blank after a character that is not a space. No word
// continues across it, and no word before it depends on what follows.
bool is_before_blank(std::string_view text, size_t at) {
  return text[at] == ' ' && !ends_with_space(text.substr(0, at));
}

// True if text[at - 1] is a single line end between two characters that are not
// spaces. Every pattern ends a word after it, even at the end of a text.
bool is_behind_line(std::string_view text, size_t at) {
  return text[at - 1] == '\n' && at >= 2 &&
         !ends_with_space(text.substr(0, at - 1)) &&
         !starts_with_space(text.substr(at));
}

}  // namespace

size_t last_cut_of(std::string_view text) {
  constexpr size_t kLongestSpace = 3;
  if (text.size() <= kLongestSpace) return 0;
  for (size_t at = text.size() - kLongestSpace; at > 0; --at) {
    if (is_before_blank(text, at) || is_behind_line(text, at)) return at;
  }
  return 0;
}

}  // namespace chimera
