// What a tokenizer's files ask for, as far as this program can do it: what the
// readers give and what a Tokenizer is made of.
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

// Byte-level byte pairs.
struct BpeSpec {
  std::vector<std::pair<std::string, std::string>> merges;
  SplitPattern pattern = SplitPattern::kGpt2;
  bool add_prefix_space = false;  // a blank before text that starts with none
  bool ignore_merges = false;     // a word that is a token stays whole
  std::string unknown = {};       // token of bytes that have none; may be empty
  bool fuse_unknown = false;
};

struct WordPieceSpec {
  std::string unknown = "[UNK]";
  std::string prefix = "##";
  size_t most_characters = 100;
  bool cleanup = true;  // decoding takes out blanks before punctuation
};

struct TokenizerSpec {
  std::string file;  // for messages
  Vocabulary vocabulary;
  std::vector<AddedToken> added;
  Normalizer normalizer;
  std::variant<BpeSpec, WordPieceSpec> model;
  // What the files call the end of a text; empty: they do not say.
  std::string end_of_text = {};
};

}  // namespace chimera
