// The description of a tokenizer that the file readers produce and a Tokenizer
// is made from.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/tokenizer/added_tokens.h"
#include "chimera/tokenizer/normalizer.h"
#include "chimera/tokenizer/pretokenize.h"

namespace chimera {

using Vocabulary = std::unordered_map<std::string, TokenId>;

// Byte-level BPE.
struct BpeSpec {
  std::vector<std::pair<std::string, std::string>> merges;
  SplitPattern pattern = SplitPattern::kGpt2;
  // Puts a blank before text that starts without one.
  bool add_prefix_space = false;
  bool ignore_merges = false;  // a word that is a token is not split
  std::string unknown = {};    // token of bytes that have none; may be empty
  bool fuse_unknown = false;
};

struct WordPieceSpec {
  std::string unknown = "[UNK]";
  std::string prefix = "##";
  size_t most_characters = 100;
  bool cleanup = true;  // decoding removes blanks before punctuation
};

struct TokenizerSpec {
  std::string file;  // for messages
  Vocabulary vocabulary;
  std::vector<AddedToken> added;
  Normalizer normalizer;
  std::variant<BpeSpec, WordPieceSpec> model;
  // The end-of-text token that the tokenizer's files name; empty if none.
  std::string end_of_text = {};
};

}  // namespace chimera
