#include "chimera/tokenizer/spec_hash.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "chimera/base/hash.h"

namespace chimera {
namespace {

// Hashes a sequence of texts and numbers, including their boundaries.
class Hash {
 public:
  void add(std::string_view text) {
    add(text.size());
    value_ = hash_of(text, value_);
  }
  void add(std::uint64_t number) {
    value_ = hash_of(std::to_string(number) + ":", value_);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = hash_of("tokenizer");
};

void add_tokens(const TokenizerSpec& spec, Hash& hash) {
  std::vector<std::pair<TokenId, std::string_view>> tokens;
  for (const auto& [token, id] : spec.vocabulary) {
    tokens.emplace_back(id, token);
  }
  std::sort(tokens.begin(), tokens.end());
  for (const auto& [id, token] : tokens) {
    hash.add(id);
    hash.add(token);
  }
  for (const AddedToken& token : spec.added) {
    hash.add(token.id);
    hash.add(token.content);
    hash.add(token.lstrip + 2U * token.rstrip + 4U * token.normalized);
  }
}

void add_normalizer(const Normalizer& normalizer, Hash& hash) {
  hash.add(normalizer.index());
  if (const auto* bert = std::get_if<BertNormalizer>(&normalizer)) {
    hash.add(bert->clean_text + 2U * bert->handle_chinese_chars +
             4U * bert->strip_accents + 8U * bert->lowercase);
  }
}

void add_model(const BpeSpec& bpe, Hash& hash) {
  for (const auto& [left, right] : bpe.merges) {
    hash.add(left);
    hash.add(right);
  }
  hash.add(static_cast<std::uint64_t>(bpe.pattern));
  hash.add(bpe.add_prefix_space + 2U * bpe.ignore_merges +
           4U * bpe.fuse_unknown);
  hash.add(bpe.unknown);
}

void add_model(const WordPieceSpec& pieces, Hash& hash) {
  hash.add(pieces.unknown);
  hash.add(pieces.prefix);
  hash.add(pieces.most_characters);
}

}  // namespace

std::uint64_t hash_of(const TokenizerSpec& spec) {
  Hash hash;
  add_tokens(spec, hash);
  add_normalizer(spec.normalizer, hash);
  std::visit([&](const auto& model) { add_model(model, hash); }, spec.model);
  return hash.value();
}

}  // namespace chimera
