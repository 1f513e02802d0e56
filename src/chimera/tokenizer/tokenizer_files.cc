#include "chimera/tokenizer/tokenizer_files.h"

#include <algorithm>

#include "chimera/base/json_reader.h"
#include "chimera/base/text.h"
#include "chimera/tokenizer/tokenizer_json.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {
namespace {

constexpr size_t kEnough = 10;  // number of mistakes to report per file

// Reads "</s>", {"content": "</s>", ...} or null.
std::string read_token_name(JsonReader& reader, const std::string& key) {
  const char first = reader.first_character();
  if (first == '{') return read_added_token(reader).content;
  if (first == '"') return reader.string(key).value_or("");
  reader.skip();
  return {};
}

// Reads {"50256": {"content": ...}, ...}.
std::vector<AddedToken> read_added_decoder(JsonReader& reader) {
  std::vector<AddedToken> tokens;
  reader.object("added_tokens_decoder", [&](const std::string& key) {
    const std::optional<int> id = parse_int(key);
    AddedToken token = read_added_token(reader);
    if (!id || *id < 0) {
      reader.refuse("E703", "id \"" + shown(key) + "\"",
                    "must be a whole number of at least 0");
      return;
    }
    token.id = static_cast<TokenId>(*id);
    tokens.push_back(std::move(token));
  });
  return tokens;
}

struct ConfigSwitches {
  std::optional<bool> lower, accents, chinese, prefix_space;
};

void read_switch(JsonReader& reader, const std::string& key,
                 std::optional<bool>& value) {
  if (!reader.null()) value = reader.boolean(key);
}

// Adds the tokens among `names` that the vocabulary has and that are not added
// yet.
void add_known_tokens(const std::vector<const char*>& names,
                      TokenizerSpec& spec) {
  for (const char* name : names) {
    const auto found = spec.vocabulary.find(name);
    const bool there =
        std::any_of(spec.added.begin(), spec.added.end(),
                    [&](const AddedToken& t) { return t.content == name; });
    if (found == spec.vocabulary.end() || there) continue;
    spec.added.push_back({.content = name, .id = found->second});
  }
}

}  // namespace

Result<Vocabulary> parse_vocab_json(std::string_view text,
                                    const std::string& file) {
  std::string storage;
  Diagnostics errors;
  JsonReader reader(repaired(text, storage), file, errors,
                    tokenizer_json_codes());
  Vocabulary vocabulary = read_vocabulary(reader);
  reader.finish();
  if (!errors.empty()) return errors;
  return vocabulary;
}

Result<MergeList> parse_merges(std::string_view text, const std::string& file) {
  std::string storage;
  MergeList merges;
  Diagnostics errors;
  int number = 0;
  for (std::string_view line : split(repaired(text, storage), '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const std::vector<std::string_view> parts = split(line, ' ');
    if (parts.size() == 2 && !parts[0].empty() && !parts[1].empty()) {
      merges.emplace_back(parts[0], parts[1]);
      continue;
    }
    errors.push_back({.kind = DiagnosticKind::kData,
                      .code = "E703",
                      .where = file + ":" + std::to_string(number),
                      .found = "\"" + shown(line) + "\"",
                      .needed = "must be two tokens with a blank between them",
                      .hint = "is this a merges.txt?"});
    if (errors.size() >= kEnough) break;
  }
  if (!errors.empty()) return errors;
  return merges;
}

Vocabulary parse_vocab_txt(std::string_view text) {
  std::string storage;
  Vocabulary vocabulary;
  TokenId id = 0;
  for (const std::string_view line : split(repaired(text, storage), '\n')) {
    const std::string_view token = trim(line);
    if (!token.empty()) vocabulary[std::string(token)] = id;
    ++id;
  }
  return vocabulary;
}

Result<TokenizerConfig> parse_tokenizer_config(std::string_view text,
                                               const std::string& file) {
  std::string storage;
  Diagnostics errors;
  JsonReader reader(repaired(text, storage), file, errors,
                    tokenizer_json_codes());
  TokenizerConfig config;
  ConfigSwitches switches;
  reader.object("the file", [&](const std::string& key) {
    if (key == "tokenizer_class") {
      config.tokenizer_class = read_token_name(reader, key);
    } else if (key == "eos_token") {
      config.eos_token = read_token_name(reader, key);
    } else if (key == "added_tokens_decoder") {
      config.added = read_added_decoder(reader);
    } else if (key == "add_prefix_space") {
      read_switch(reader, key, switches.prefix_space);
    } else if (key == "do_lower_case") {
      read_switch(reader, key, switches.lower);
    } else if (key == "strip_accents") {
      read_switch(reader, key, switches.accents);
    } else if (key == "tokenize_chinese_chars") {
      read_switch(reader, key, switches.chinese);
    } else {
      reader.skip();
    }
  });
  reader.finish();
  if (!errors.empty()) return errors;
  config.add_prefix_space = switches.prefix_space.value_or(false);
  config.bert.lowercase = switches.lower.value_or(true);
  config.bert.strip_accents = switches.accents.value_or(config.bert.lowercase);
  config.bert.handle_chinese_chars = switches.chinese.value_or(true);
  return config;
}

TokenizerSpec gpt2_spec(Vocabulary vocabulary, MergeList merges,
                        const TokenizerConfig& config) {
  TokenizerSpec spec{
      .vocabulary = std::move(vocabulary),
      .added = config.added,
      .model = BpeSpec{.merges = std::move(merges),
                       .pattern = SplitPattern::kGpt2,
                       .add_prefix_space = config.add_prefix_space},
      .end_of_text = config.eos_token};
  add_known_tokens({"<|endoftext|>"}, spec);
  return spec;
}

TokenizerSpec bert_spec(Vocabulary vocabulary, const TokenizerConfig& config) {
  TokenizerSpec spec{.vocabulary = std::move(vocabulary),
                     .added = config.added,
                     .normalizer = config.bert,
                     .model = WordPieceSpec{},
                     .end_of_text = config.eos_token};
  add_known_tokens({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, spec);
  return spec;
}

}  // namespace chimera
