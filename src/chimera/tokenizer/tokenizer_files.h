// Reads the tokenizer files that predate tokenizer.json, and
// tokenizer_config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/tokenizer/tokenizer_spec.h"

namespace chimera {

// GPT-2's vocab.json (or encoder.json): {"token": id, ...}.
[[nodiscard]] Result<Vocabulary> parse_vocab_json(std::string_view text,
                                                  const std::string& file);

// GPT-2's merges.txt (or vocab.bpe): two tokens per line, best first. Empty
// lines and those that start with "#version" are skipped.
using MergeList = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Result<MergeList> parse_merges(std::string_view text,
                                             const std::string& file);

// BERT's vocab.txt: one token per line; its id is the line's number, from 0.
[[nodiscard]] Vocabulary parse_vocab_txt(std::string_view text);

// The fields of tokenizer_config.json that are used.
struct TokenizerConfig {
  std::string tokenizer_class = {};
  std::string eos_token = {};
  std::vector<AddedToken> added = {};  // added_tokens_decoder
  bool add_prefix_space = false;
  BertNormalizer bert = {};
};
[[nodiscard]] Result<TokenizerConfig> parse_tokenizer_config(
    std::string_view text, const std::string& file);

// A tokenizer as GPT-2's and BERT's own files describe it.
[[nodiscard]] TokenizerSpec gpt2_spec(Vocabulary vocabulary, MergeList merges,
                                      const TokenizerConfig& config);
[[nodiscard]] TokenizerSpec bert_spec(Vocabulary vocabulary,
                                      const TokenizerConfig& config);

}  // namespace chimera
