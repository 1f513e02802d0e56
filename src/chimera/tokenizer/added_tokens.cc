#include "chimera/tokenizer/added_tokens.h"

#include <algorithm>

#include "chimera/tokenizer/unicode.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {
namespace {

std::uint64_t edge(std::uint32_t node, char byte) {
  return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
}

bool is_space(CodePoint code) {
  return (char_classes()[code.value] & kSpace) != 0;
}

// Start of the run of spaces that ends at `end`, at least `from`.
size_t spaces_before(std::string_view text, size_t end, size_t from) {
  while (end > from) {
    const CodePoint code = code_point_before(text, end);
    if (!is_space(code)) break;
    end -= code.length;
  }
  return end;
}

size_t spaces_behind(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint code = code_point_at(text, at);
    if (!is_space(code)) break;
    at += code.length;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)) {
  std::uint32_t nodes = 1;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& content = tokens_[i].content;
    if (content.empty()) continue;
    starts_[static_cast<unsigned char>(content[0])] = true;
    std::uint32_t node = 0;
    for (const char byte : content) {
      const auto [child, is_new] =
          children_.try_emplace(edge(node, byte), nodes);
      if (is_new) ++nodes;
      node = child->second;
    }
    token_at_[node] = i;
  }
}

std::optional<AddedTokens::Match> AddedTokens::match_at(std::string_view text,
                                                        size_t at) const {
  std::optional<Match> longest;
  std::uint32_t node = 0;
  for (size_t end = at; end < text.size(); ++end) {
    const auto child = children_.find(edge(node, text[end]));
    if (child == children_.end()) break;
    node = child->second;
    const auto token = token_at_.find(node);
    if (token != token_at_.end()) longest = {end + 1 - at, token->second};
  }
  return longest;
}

void AddedTokens::split(std::string_view text, const Consumer& consumer) const {
  size_t done = 0;  // end of the text given to the consumer so far
  for (size_t at = 0; at < text.size();) {
    const bool may_start = starts_[static_cast<unsigned char>(text[at])];
    const std::optional<Match> match =
        may_start ? match_at(text, at) : std::nullopt;
    if (!match) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[match->token];
    const size_t begin = token.lstrip ? spaces_before(text, at, done) : at;
    at += match->length;
    if (done < begin) consumer.text(text.substr(done, begin - done));
    consumer.token(token.id);
    done = token.rstrip ? spaces_behind(text, at) : at;
  }
  if (done < text.size()) consumer.text(text.substr(done));
}

bool AddedTokens::touches_spaces() const {
  return std::any_of(tokens_.begin(), tokens_.end(), [](const auto& token) {
    if (token.lstrip || token.rstrip) return true;
    for (size_t at = 0; at < token.content.size();) {
      const CodePoint code = code_point_at(token.content, at);
      if (is_space(code)) return true;
      at += code.length;
    }
    return false;
  });
}

}  // namespace chimera
