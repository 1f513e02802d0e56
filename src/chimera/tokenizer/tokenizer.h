// A tokenizer turns text into token ids and back, exactly as Hugging Face's
// `tokenizers` does with the same files, except that it adds no tokens around
// the text. It is immutable: threads share one, and each has its own Encoder.
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
  // Refuses contradictions, such as a merge of unknown tokens.
  [[nodiscard]] static Result<Tokenizer> make(const TokenizerSpec& spec);

  // The largest id plus one.
  [[nodiscard]] std::uint64_t num_ids() const { return num_ids_; }
  // The token that ends a document, if there is one.
  [[nodiscard]] std::optional<TokenId> end_of_document() const {
    return end_of_document_;
  }
  // A hash that is equal for tokenizers that give equal ids, whatever the form
  // of their files.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  // The id of a token; nullopt if no token has this text.
  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;

  // Turns ids into text. A byte-level tokenizer without a normalizer gives back
  // exactly what was encoded. Ids without a token are skipped.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;

  // The last place at which `text` can be cut without changing its tokens,
  // whatever follows `text`; 0 if none is known. `text` may hold any bytes.
  [[nodiscard]] size_t last_cut(std::string_view text) const;

 private:
  friend class Encoder;
  struct Model {
    std::variant<BpeModel, WordPieceModel> merge;
    std::optional<SplitPattern> pattern;  // empty: BERT's words
    bool add_prefix_space = false;
  };
  Tokenizer(const TokenizerSpec& spec, Model model);

  Model model_;
  Normalizer normalizer_;
  AddedTokens raw_added_;         // searched for first
  AddedTokens normalized_added_;  // searched for in normalised text
  std::unordered_map<TokenId, std::string> texts_;
  // Set for WordPiece: how to decode.
  std::optional<WordPieceSpec> word_pieces_;
  std::optional<TokenId> end_of_document_;
  bool may_cut_ = false;
  std::uint64_t num_ids_ = 0;
  std::uint64_t hash_ = 0;
};

// The hash as 16 digits, as in the description of a corpus.
[[nodiscard]] std::string hash_text(const Tokenizer& tokenizer);

}  // namespace chimera
