// Reads any bytes as tokenizer.json, vocab.json, merges.txt, vocab.txt and
// tokenizer_config.json. An accepted tokenizer must encode any bytes, and
// decode them again if it is byte-level and knows all bytes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/tokenizer/byte_alphabet.h"
#include "chimera/tokenizer/encoder.h"
#include "chimera/tokenizer/tokenizer.h"
#include "chimera/tokenizer/tokenizer_files.h"
#include "chimera/tokenizer/tokenizer_json.h"
#include "chimera/tokenizer/utf8.h"

namespace {

using chimera::TokenId;
using chimera::TokenizerSpec;

void must(bool condition) {
  if (!condition) std::abort();
}

std::vector<TokenId> try_out(const TokenizerSpec& spec, std::string_view text) {
  const auto tokenizer = chimera::Tokenizer::make(spec);
  if (!tokenizer) return {};
  std::vector<TokenId> ids;
  chimera::Encoder(*tokenizer).encode(text, ids);
  for (const TokenId id : ids) must(id < tokenizer->num_ids());
  const size_t cut = tokenizer->last_cut(text);
  must(cut <= text.size());
  (void)tokenizer->decode(ids);
  return ids;
}

// A vocabulary of all bytes, and those merges of the input that it allows.
void try_merges(std::string_view text) {
  const auto merges = chimera::parse_merges(text, "fuzz");
  if (!merges) return;
  chimera::Vocabulary vocabulary;
  const auto add = [&](const std::string& token) {
    const auto id = static_cast<TokenId>(vocabulary.size());
    vocabulary.try_emplace(token, id);
  };
  for (int byte = 0; byte < 256; ++byte) {
    add(chimera::letter_of_byte(static_cast<std::uint8_t>(byte)));
  }
  for (const auto& [left, right] : *merges) {
    for (const std::string& token : {left, right, left + right}) {
      if (!chimera::bytes_of_letters(token)) return;
      add(token);
    }
  }
  const TokenizerSpec spec = chimera::gpt2_spec(vocabulary, *merges, {});
  const auto tokenizer = chimera::Tokenizer::make(spec);
  must(tokenizer.ok());
  std::string storage;
  must(tokenizer->decode(try_out(spec, text)) ==
       chimera::repaired(text, storage));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto spec = chimera::parse_tokenizer_json(text, "fuzz")) {
    try_out(*spec, text);
    try_out(*spec, "It's a t\xC3\xA9st <|endoftext|> \xFF 123\n\n");
  } else {
    must(spec.errors().size() <= 110);
  }
  (void)chimera::parse_vocab_json(text, "fuzz");
  (void)chimera::parse_tokenizer_config(text, "fuzz");
  try_merges(text);
  try_out(chimera::bert_spec(chimera::parse_vocab_txt(text), {}), text);
  return 0;
}
