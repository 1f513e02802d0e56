#include "chimera/tokenizer/encoder.h"

#include <span>

#include "chimera/tokenizer/bert_text.h"
#include "chimera/tokenizer/normalizer.h"
#include "chimera/tokenizer/pretokenize.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {

void Encoder::encode(std::string_view text, std::vector<TokenId>& ids) {
  tokenizer_.raw_added_.split(
      repaired(text, repaired_),
      {.text = [&](std::string_view part) { encode_unmarked(part, ids); },
       .token = [&](TokenId id) { ids.push_back(id); }});
}

void Encoder::encode_unmarked(std::string_view text,
                              std::vector<TokenId>& ids) {
  if (may_change(text, tokenizer_.normalizer_)) {
    normalized_ = normalized(text, tokenizer_.normalizer_);
    text = normalized_;
  }
  tokenizer_.normalized_added_.split(
      text, {.text = [&](std::string_view part) { encode_words(part, ids); },
             .token = [&](TokenId id) { ids.push_back(id); }});
}

void Encoder::encode_words(std::string_view text, std::vector<TokenId>& ids) {
  const Tokenizer::Model& model = tokenizer_.model_;
  if (!model.pattern) {
    for (size_t at = 0; at < text.size();) {
      const std::string_view word = next_bert_word(text, at);
      if (!word.empty()) encode_word(word, ids);
    }
    return;
  }
  if (model.add_prefix_space && !text.starts_with(' ')) {
    text = prefixed_ = " " + std::string(text);
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(*model.pattern, text, at);
    encode_word(text.substr(at, end - at), ids);
    at = end;
  }
}

void Encoder::encode_word(std::string_view word, std::vector<TokenId>& ids) {
  const auto encode = [&](const auto& model) { model.encode(word, ids); };
  if (word.size() > WordCache::kLongestWord) {
    std::visit(encode, tokenizer_.model_.merge);
    return;
  }
  const WordCache::Key key = WordCache::key_of(word);
  if (cache_.find(key, ids)) return;
  const size_t first = ids.size();
  std::visit(encode, tokenizer_.model_.merge);
  cache_.keep(key, std::span(ids).subspan(first));
}

}  // namespace chimera
