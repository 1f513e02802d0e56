#include "chimera/tokenizer/corpus/blank_lines.h"

#include <algorithm>

#include "chimera/base/text.h"

namespace chimera {

std::vector<std::string_view> split_at_blanks(std::string_view text) {
  std::vector<std::string_view> documents;
  // Start of the document; npos: none yet.
  size_t begin = std::string_view::npos;
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    const bool is_blank = trim(text.substr(at, line_end - at)).empty();
    if (!is_blank) {
      if (begin == std::string_view::npos) begin = at;
      end = line_end;
    } else if (begin != std::string_view::npos) {
      documents.push_back(text.substr(begin, end - begin));
      begin = std::string_view::npos;
    }
    at = line_end + 1;
  }
  if (begin != std::string_view::npos) {
    documents.push_back(text.substr(begin, end - begin));
  }
  return documents;
}

size_t last_document_end(std::string_view text) {
  size_t line_end = text.rfind('\n');
  while (line_end != std::string_view::npos && line_end > 0) {
    const size_t before = text.rfind('\n', line_end - 1);
    if (before == std::string_view::npos) return 0;
    const size_t begin = before + 1;
    if (trim(text.substr(begin, line_end - begin)).empty()) return line_end + 1;
    line_end = before;
  }
  return 0;
}

}  // namespace chimera
