// A tokenizer turns text into token ids and back, exactly as Hugging Face's
// `tokenizers` does with the same files, except that nothing is put around the
// text. It is immutable: threads share one, and each has an Encoder of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/tokenizer/added_tokens.h"
#include "chimera/tokenizer/bpe.h"
#include "chimera/tokenizer/tokenizer_spec.h"
#include "chimera/tokenizer/wordpiece.h"

namespace chimera {

class Tokenizer {
 public:
  // Refuses what contradicts itself, such as a merge of unknown tokens.
  [[nodiscard]] static Result<Tokenizer> make(const TokenizerSpec& spec);

  // One more than the largest id.
  [[nodiscard]] std::uint64_t num_ids() const { return num_ids_; }
  // The token that ends a document, if there is one.
  [[nodiscard]] std::optional<TokenId> end_of_document() const {
    return end_of_document_;
  }
  // Equal for tokenizers that give equal ids, however their files are written.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  // The id of a token; nothing if there is none of this text.
  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;

  // The text of tokens. Byte-level tokenizers give back what was encoded, if
  // nothing was normalised. Ids without a token are left out.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;

  // The last place at which `text` may be cut without a change of its tokens,
  // whatever follows it; 0 if none is known. `text` may hold any bytes.
  [[nodiscard]] size_t last_cut(std::string_view text) const;

 private:
  friend class Encoder;
  struct Model {
    std::variant<BpeModel, WordPieceModel> merge;
    std::optional<SplitPattern> pattern;  // none: BERT's words
    bool add_prefix_space = false;
  };
  Tokenizer(const TokenizerSpec& spec, Model model);

  Model model_;
  Normalizer normalizer_;
  AddedTokens raw_added_;         // looked for first
  AddedTokens normalized_added_;  // looked for in normalised text
  std::unordered_map<TokenId, std::string> texts_;
  std::optional<WordPieceSpec> word_pieces_;  // how to decode
  std::optional<TokenId> end_of_document_;
  bool may_cut_ = false;
  std::uint64_t num_ids_ = 0;
  std::uint64_t hash_ = 0;
};

// The hash as 16 digits, as descriptions of corpora hold it.
[[nodiscard]] std::string hash_text(const Tokenizer& tokenizer);

}  // namespace chimera
