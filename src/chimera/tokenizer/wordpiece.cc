#include "chimera/tokenizer/wordpiece.h"

#include <algorithm>
#include <utility>

namespace chimera {
namespace {

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

void replace_all(std::string& text, std::string_view from,
                 std::string_view to) {
  size_t at = 0;
  while ((at = text.find(from, at)) != std::string::npos) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// Removes the blanks that Hugging Face removes from decoded English.
void clean_up(std::string& text) {
  constexpr std::pair<const char*, const char*> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kChanges) replace_all(text, from, to);
}

}  // namespace

WordPieceModel::WordPieceModel(std::unordered_map<std::string, TokenId> tokens,
                               WordPieceOptions options)
    : tokens_(std::move(tokens)), options_(std::move(options)) {
  for (const auto& [token, id] : tokens_) {
    longest_ = std::max(longest_, token.size());
  }
}

// Returns false if tokens cannot cover the word.
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
        if (length <= 1) return false;
        --length;
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

std::string join_word_pieces(const std::vector<std::string>& tokens,
                             const std::string& prefix, bool cleanup) {
  std::string text;
  for (const std::string& token : tokens) {
    std::string part = token;
    if (!text.empty() || &token != &tokens.front()) {
      if (token.starts_with(prefix)) {
        part = token.substr(prefix.size());
      } else {
        part = " " + token;
      }
    }
    if (cleanup) clean_up(part);
    text += part;
  }
  return text;
}

}  // namespace chimera
