// The files of tokenizers older than tokenizer.json, and what a directory says
// beside them.
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

// GPT-2's merges.txt (or vocab.bpe): two tokens a line, best first. Lines that
// start with "#version" and empty ones are passed over.
using MergeList = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Result<MergeList> parse_merges(std::string_view text,
                                             const std::string& file);

// BERT's vocab.txt: a token a line, whose number, from 0, is its id.
[[nodiscard]] Vocabulary parse_vocab_txt(std::string_view text);

// What is used of tokenizer_config.json.
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
