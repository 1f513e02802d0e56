#include "chimera/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chimera/base/text.h"
#include "chimera/tokenizer/byte_alphabet.h"
#include "chimera/tokenizer/spec_hash.h"
#include "chimera/tokenizer/text_cut.h"

namespace chimera {
namespace {

// Usual names of the end-of-document token, for files that do not name it.
constexpr const char* kEndNames[] = {"<|endoftext|>", "<|end_of_text|>",
                                     "</s>"};

std::optional<TokenId> find_token(const TokenizerSpec& spec,
                                  const std::string& text) {
  for (const AddedToken& token : spec.added) {
    if (token.content == text) return token.id;
  }
  const auto found = spec.vocabulary.find(text);
  if (found == spec.vocabulary.end()) return std::nullopt;
  return found->second;
}

Diagnostic contradiction(const TokenizerSpec& spec, std::string found,
                         std::string needed) {
  return {.kind = DiagnosticKind::kData,
          .code = "E705",
          .where = spec.file,
          .found = std::move(found),
          .needed = std::move(needed),
          .hint = "the files are damaged, or of different tokenizers"};
}

Result<std::vector<Merge>> numbered_merges(const TokenizerSpec& spec,
                                           const BpeSpec& bpe) {
  std::vector<Merge> merges;
  merges.reserve(bpe.merges.size());
  const Vocabulary& vocabulary = spec.vocabulary;
  for (const auto& [left, right] : bpe.merges) {
    TokenId ids[3] = {};
    const std::string texts[3] = {left, right, left + right};
    for (size_t i = 0; i < 3; ++i) {
      const auto found = vocabulary.find(texts[i]);
      if (found == vocabulary.end()) {
        return contradiction(
            spec, "merge \"" + shown(left) + " " + shown(right) + "\"",
            "needs \"" + shown(texts[i]) + "\", which the vocabulary lacks");
      }
      ids[i] = found->second;
    }
    merges.push_back({.left = ids[0], .right = ids[1], .product = ids[2]});
  }
  return merges;
}

Result<BpeModel> make_bpe(const TokenizerSpec& spec, const BpeSpec& bpe) {
  Result<std::vector<Merge>> merges = numbered_merges(spec, bpe);
  if (!merges) return merges.errors();
  std::array<std::optional<TokenId>, 256> bytes;
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    const auto found =
        spec.vocabulary.find(letter_of_byte(static_cast<std::uint8_t>(byte)));
    if (found != spec.vocabulary.end()) bytes[byte] = found->second;
  }
  // With ignore_merges, a word that is a token by itself is taken whole, even
  // if no merges lead to it.
  Vocabulary whole_words;
  if (bpe.ignore_merges) {
    for (const auto& [token, id] : spec.vocabulary) {
      if (const auto word = bytes_of_letters(token)) whole_words[*word] = id;
    }
  }
  UnknownBytes unknown{.id = std::nullopt, .fuse = bpe.fuse_unknown};
  if (!bpe.unknown.empty()) {
    unknown.id = find_token(spec, bpe.unknown);
    if (!unknown.id) {
      return contradiction(spec, "unk_token \"" + shown(bpe.unknown) + "\"",
                           "is not in the vocabulary");
    }
  }
  return BpeModel(bytes, *merges, std::move(whole_words), unknown);
}

Result<WordPieceModel> make_word_pieces(const TokenizerSpec& spec,
                                        const WordPieceSpec& pieces) {
  const std::optional<TokenId> unknown = find_token(spec, pieces.unknown);
  if (!unknown) {
    return contradiction(spec, "unk_token \"" + shown(pieces.unknown) + "\"",
                         "is not in the vocabulary");
  }
  return WordPieceModel(spec.vocabulary,
                        {.unknown = *unknown,
                         .prefix = pieces.prefix,
                         .most_characters = pieces.most_characters});
}

// Every id has one token, and every token one id.
Diagnostics check_ids(const TokenizerSpec& spec) {
  std::unordered_map<TokenId, const std::string*> seen;
  const auto clash = [&](const std::string& token, TokenId id) -> Diagnostics {
    const auto [other, is_new] = seen.try_emplace(id, &token);
    if (is_new || *other->second == token) return {};
    return {contradiction(spec, "id " + std::to_string(id),
                          "belongs to both \"" + shown(*other->second) +
                              "\" and \"" + shown(token) + "\"")};
  };
  for (const auto& [token, id] : spec.vocabulary) {
    if (Diagnostics errors = clash(token, id); !errors.empty()) return errors;
  }
  for (const AddedToken& token : spec.added) {
    Diagnostics errors = clash(token.content, token.id);
    if (!errors.empty()) return errors;
    const auto known = spec.vocabulary.find(token.content);
    if (known != spec.vocabulary.end() && known->second != token.id) {
      return {contradiction(spec,
                            "added token \"" + shown(token.content) + "\"",
                            "has another id in the vocabulary")};
    }
  }
  return {};
}

std::vector<AddedToken> added_of(const TokenizerSpec& spec, bool in_normal) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : spec.added) {
    if (token.normalized != in_normal) continue;
    if (in_normal) token.content = normalized(token.content, spec.normalizer);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

Result<Tokenizer> Tokenizer::make(const TokenizerSpec& spec) {
  if (Diagnostics errors = check_ids(spec); !errors.empty()) return errors;
  if (const auto* bpe = std::get_if<BpeSpec>(&spec.model)) {
    Result<BpeModel> model = make_bpe(spec, *bpe);
    if (!model) return model.errors();
    return Tokenizer(spec, {.merge = std::move(model).value(),
                            .pattern = bpe->pattern,
                            .add_prefix_space = bpe->add_prefix_space});
  }
  Result<WordPieceModel> model =
      make_word_pieces(spec, std::get<WordPieceSpec>(spec.model));
  if (!model) return model.errors();
  return Tokenizer(spec, {.merge = std::move(model).value()});
}

Tokenizer::Tokenizer(const TokenizerSpec& spec, Model model)
    : model_(std::move(model)),
      normalizer_(spec.normalizer),
      raw_added_(added_of(spec, false)),
      normalized_added_(added_of(spec, true)),
      hash_(hash_of(spec)) {
  const auto add = [&](TokenId id, const std::string& text) {
    texts_[id] = text;
    num_ids_ = std::max(num_ids_, std::uint64_t{id} + 1);
  };
  const bool bytes = model_.pattern.has_value();
  for (const auto& [token, id] : spec.vocabulary) {
    add(id, bytes ? bytes_of_letters(token).value_or(token) : token);
  }
  for (const AddedToken& token : spec.added) add(token.id, token.content);
  if (!bytes) word_pieces_ = std::get<WordPieceSpec>(spec.model);
  // Cuts are next to blanks and line ends, so no rule may change or consume
  // those.
  const bool blanks_stay =
      !bytes || !std::holds_alternative<BertNormalizer>(normalizer_);
  may_cut_ = blanks_stay && !model_.add_prefix_space &&
             !raw_added_.touches_spaces() &&
             !normalized_added_.touches_spaces();
  if (!spec.end_of_text.empty()) {
    end_of_document_ = find_token(spec, spec.end_of_text);
  }
  for (const char* name : kEndNames) {
    if (!end_of_document_) end_of_document_ = find_token(spec, name);
  }
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  for (const auto& [id, text] : texts_) {
    if (text == token) return id;
  }
  return std::nullopt;
}

std::string hash_text(const Tokenizer& tokenizer) {
  return fmt::format("{:016x}", tokenizer.hash());
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::vector<std::string> tokens;
  for (const TokenId id : ids) {
    const auto found = texts_.find(id);
    if (found != texts_.end()) tokens.push_back(found->second);
  }
  if (!word_pieces_) return join(tokens, "");
  return join_word_pieces(tokens, word_pieces_->prefix, word_pieces_->cleanup);
}

size_t Tokenizer::last_cut(std::string_view text) const {
  return may_cut_ ? last_cut_of(text) : 0;
}

}  // namespace chimera
