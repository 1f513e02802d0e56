#include "chimera/tokenizer/corpus/corpus_description.h"

#include <fmt/format.h>

#include <filesystem>

#include "chimera/base/files.h"
#include "chimera/base/json_reader.h"

namespace chimera {
namespace {

constexpr const char* kFormat = "chimera-corpus-1";

// Reads one key. Counts may be larger than an int.
class DescriptionReader {
 public:
  explicit DescriptionReader(JsonReader& json) : json_(json) {}

  // Returns false if the file describes something else.
  bool run() {
    json_.object("the file", [&](const std::string& key) { read(key); });
    return format_ == kFormat;
  }

  CorpusDescription result;

 private:
  void read(const std::string& key) {
    if (key == "format") {
      format_ = json_.string(key).value_or("");
    } else if (key == "dtype") {
      result.wide = json_.string(key).value_or("") == "uint32";
    } else if (key == "tokens") {
      result.tokens = json_.integer64(key).value_or(0);
    } else if (key == "documents") {
      result.documents = json_.integer64(key).value_or(0);
    } else if (key == "vocab") {
      result.vocab = json_.integer64(key).value_or(0);
    } else if (key == "end_of_document") {
      if (!json_.null()) result.end_of_document = json_.integer64(key);
    } else if (key == "tokenizer_hash") {
      result.tokenizer_hash = json_.string(key).value_or("");
    } else if (key == "source_hash") {
      result.source_hash = json_.string(key).value_or("");
    } else {
      json_.skip();
    }
  }

  JsonReader& json_;
  std::string format_;
};

}  // namespace

std::string description_path(const std::string& corpus) {
  return std::filesystem::path(corpus).replace_extension(".json").string();
}

std::string print(const CorpusDescription& description) {
  const auto& end = description.end_of_document;
  std::string source;
  if (!description.source_hash.empty()) {
    source =
        fmt::format(",\n  \"source_hash\": \"{}\"", description.source_hash);
  }
  return fmt::format(
      "{{\n  \"format\": \"{}\",\n  \"dtype\": \"{}\",\n"
      "  \"tokens\": {},\n  \"documents\": {},\n  \"vocab\": {},\n"
      "  \"end_of_document\": {},\n  \"tokenizer_hash\": \"{}\"{}\n}}\n",
      kFormat, description.wide ? "uint32" : "uint16", description.tokens,
      description.documents, description.vocab,
      end ? std::to_string(*end) : "null", description.tokenizer_hash, source);
}

Result<std::optional<CorpusDescription>> read_description(
    const std::string& corpus) {
  const std::string path = description_path(corpus);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return std::optional<CorpusDescription>();
  }
  const Result<std::string> text = read_file(path);
  if (!text) return text.errors();
  Diagnostics errors;
  JsonReader json(*text, path, errors,
                  {.syntax = "E517",
                   .type = "E517",
                   .range = "E517",
                   .key = "E517",
                   .kind = DiagnosticKind::kData});
  DescriptionReader reader(json);
  const bool is_ours = reader.run();
  json.finish();
  if (!is_ours) return std::optional<CorpusDescription>();
  if (!errors.empty()) return errors;
  return std::optional(reader.result);
}

}  // namespace chimera
