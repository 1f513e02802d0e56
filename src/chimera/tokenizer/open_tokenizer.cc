#include "chimera/tokenizer/open_tokenizer.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/tokenizer/tokenizer_files.h"
#include "chimera/tokenizer/tokenizer_json.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

// Names of GPT-2's two files, by Hugging Face and by OpenAI.
struct FilePair {
  const char* vocabulary;
  const char* merges;
};
constexpr FilePair kPairs[] = {{"vocab.json", "merges.txt"},
                               {"encoder.json", "vocab.bpe"}};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

Diagnostic refused(const fs::path& path, std::string needed, std::string hint) {
  return {.kind = DiagnosticKind::kData,
          .code = "E701",
          .where = path.string(),
          .found = "the tokenizer",
          .needed = std::move(needed),
          .hint = std::move(hint)};
}

Result<std::string> contents(const fs::path& path) {
  Result<std::string> text = read_file(path.string());
  if (text) return text;
  return refused(path, text.errors().front().needed,
                 "check the path and its permissions");
}

// Reads tokenizer_config.json; default values if there is none.
Result<TokenizerConfig> config_in(const fs::path& directory) {
  const fs::path path = directory / "tokenizer_config.json";
  if (!is_file(path)) return TokenizerConfig{};
  const Result<std::string> text = contents(path);
  if (!text) return text.errors();
  return parse_tokenizer_config(*text, path.string());
}

Result<TokenizerSpec> read_json(const fs::path& path) {
  const Result<std::string> text = contents(path);
  if (!text) return text.errors();
  return parse_tokenizer_json(*text, path.string());
}

// Checks that the tokenizer class named by the config is one that the files
// describe completely.
Diagnostics check_class(const fs::path& directory,
                        const TokenizerConfig& config,
                        const std::string& family) {
  const std::string& name = config.tokenizer_class;
  if (name.empty() || name == family || name == family + "Fast") return {};
  return {
      {.kind = DiagnosticKind::kData,
       .code = "E706",
       .where = (directory / "tokenizer_config.json").string(),
       .found = "tokenizer_class " + shown(name) + " without tokenizer.json",
       .needed = "is not supported",
       .hint = "save it with save_pretrained of transformers, which writes "
               "a tokenizer.json"}};
}

Result<TokenizerSpec> read_gpt2(const fs::path& vocabulary,
                                const fs::path& merges) {
  const fs::path directory = vocabulary.parent_path();
  const Result<TokenizerConfig> config = config_in(directory);
  if (!config) return config.errors();
  Diagnostics errors = check_class(directory, *config, "GPT2Tokenizer");
  if (!errors.empty()) return errors;
  const Result<std::string> vocabulary_text = contents(vocabulary);
  if (!vocabulary_text) return vocabulary_text.errors();
  const Result<std::string> merges_text = contents(merges);
  if (!merges_text) return merges_text.errors();
  Result<Vocabulary> tokens =
      parse_vocab_json(*vocabulary_text, vocabulary.string());
  if (!tokens) return tokens.errors();
  Result<MergeList> pairs = parse_merges(*merges_text, merges.string());
  if (!pairs) return pairs.errors();
  TokenizerSpec spec =
      gpt2_spec(std::move(tokens).value(), std::move(pairs).value(), *config);
  spec.file = merges.string();
  return spec;
}

Result<TokenizerSpec> read_bert(const fs::path& path) {
  const Result<TokenizerConfig> config = config_in(path.parent_path());
  if (!config) return config.errors();
  Diagnostics errors =
      check_class(path.parent_path(), *config, "BertTokenizer");
  if (!errors.empty()) return errors;
  const Result<std::string> text = contents(path);
  if (!text) return text.errors();
  TokenizerSpec spec = bert_spec(parse_vocab_txt(*text), *config);
  spec.file = path.string();
  return spec;
}

Result<TokenizerSpec> read_directory(const fs::path& path) {
  if (is_file(path / "tokenizer.json")) {
    Result<TokenizerSpec> spec = read_json(path / "tokenizer.json");
    if (!spec) return spec;
    const Result<TokenizerConfig> config = config_in(path);
    if (!config) return config.errors();
    TokenizerSpec with_end = std::move(spec).value();
    with_end.end_of_text = config->eos_token;
    return with_end;
  }
  for (const FilePair& pair : kPairs) {
    if (is_file(path / pair.vocabulary) && is_file(path / pair.merges)) {
      return read_gpt2(path / pair.vocabulary, path / pair.merges);
    }
  }
  if (is_file(path / "vocab.txt")) return read_bert(path / "vocab.txt");
  return refused(path,
                 "is not there: a directory needs tokenizer.json, vocab.json "
                 "and merges.txt, or vocab.txt",
                 "SentencePiece models are not read; save_pretrained of "
                 "transformers writes a tokenizer.json");
}

Result<TokenizerSpec> read_spec(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return read_directory(path);
  const fs::path directory = path.parent_path();
  const std::string name = path.filename().string();
  for (const FilePair& pair : kPairs) {
    if (name == pair.vocabulary || name == pair.merges) {
      return read_gpt2(directory / pair.vocabulary, directory / pair.merges);
    }
  }
  if (path.extension() == ".json") return read_json(path);
  if (path.extension() == ".txt") return read_bert(path);
  return refused(path, is_file(path) ? "is of no known kind" : "is not there",
                 "name a Hugging Face directory, a tokenizer.json, GPT-2's "
                 "vocab.json, or BERT's vocab.txt");
}

}  // namespace

Result<Tokenizer> open_tokenizer(const std::string& path) {
  const Result<TokenizerSpec> spec = read_spec(path);
  if (!spec) return spec.errors();
  return Tokenizer::make(*spec);
}

}  // namespace chimera
