#include "chimera/tokenizer/wordpiece.h"

#include <algorithm>

namespace chimera {
namespace {

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

WordPieceModel::WordPieceModel(std::unordered_map<std::string, TokenId> tokens,
                               WordPieceOptions options)
    : tokens_(std::move(tokens)), options_(std::move(options)) {
  for (const auto& [token, id] : tokens_) {
    longest_ = std::max(longest_, token.size());
  }
}

// False where the word cannot be covered.
bool WordPieceModel::cover(std::string_view word,
                           std::vector<TokenId>& ids) const {
  std::string candidate;
  while (!word.empty()) {
    candidate.assign(ids.empty() ? "" : options_.prefix);
    const size_t prefix = candidate.size();
    size_t length = std::min(word.size(), longest_);
    candidate.append(word.substr(0, length));
    auto found = tokens_.find(candidate);
    while (found == tokens_.end()) {
      do {
        if (--length == 0) return false;
      } while (is_inside_character(word[length]));
      candidate.resize(prefix + length);
      found = tokens_.find(candidate);
    }
    ids.push_back(found->second);
    word.remove_prefix(length);
  }
  return true;
}

void WordPieceModel::encode(std::string_view word,
                            std::vector<TokenId>& ids) const {
  const auto inside =
      std::count_if(word.begin(), word.end(), is_inside_character);
  const size_t characters = word.size() - static_cast<size_t>(inside);
  std::vector<TokenId> pieces;
  if (characters > options_.most_characters || !cover(word, pieces)) {
    pieces = {options_.unknown};
  }
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

}  // namespace chimera
