#include "chimera/tokenizer/exported_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/tokenizer/open_tokenizer.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "tokenizer_config.json";
constexpr const char* kGeneration = "generation_config.json";

struct FileToCopy {
  fs::path source;
  std::string name;
};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The files of a directory that belong to its tokenizer, the vocabulary first.
// OpenAI's names of GPT-2's files become those of Hugging Face.
std::vector<FileToCopy> files_in(const fs::path& directory) {
  constexpr struct {
    const char* source;
    const char* name;
  } kFiles[] = {{"tokenizer.json", "tokenizer.json"},
                {"vocab.json", "vocab.json"},
                {"encoder.json", "vocab.json"},
                {"merges.txt", "merges.txt"},
                {"vocab.bpe", "merges.txt"},
                {"vocab.txt", "vocab.txt"},
                {"tokenizer.model", "tokenizer.model"},
                {kConfig, kConfig},
                {"special_tokens_map.json", "special_tokens_map.json"},
                {"added_tokens.json", "added_tokens.json"},
                {"chat_template.jinja", "chat_template.jinja"},
                {kGeneration, kGeneration}};
  std::vector<FileToCopy> files;
  for (const auto& [source, name] : kFiles) {
    const bool taken = std::ranges::any_of(
        files,
        [&, as = name](const FileToCopy& file) { return file.name == as; });
    if (!taken && is_file(directory / source)) {
      files.push_back({directory / source, name});
    }
  }
  return files;
}

// The files that belong to the tokenizer at `path`, the vocabulary first.
std::vector<FileToCopy> files_of(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return files_in(path);
  const std::string name = path.filename().string();
  for (const char* of_pair :
       {"vocab.json", "merges.txt", "encoder.json", "vocab.bpe"}) {
    if (name != of_pair) continue;
    std::vector<FileToCopy> files = files_in(path.parent_path());
    std::erase_if(files, [](const FileToCopy& file) {
      return file.name != "vocab.json" && file.name != "merges.txt" &&
             file.name != kConfig;
    });
    return files;
  }
  if (!is_file(path)) return {};
  if (path.extension() == ".json") return {{path, "tokenizer.json"}};
  std::vector<FileToCopy> files = {{path, "vocab.txt"}};
  const fs::path config = path.parent_path() / kConfig;
  if (is_file(config)) files.push_back({config, kConfig});
  return files;
}

// The class that reads the file by itself, whatever the model is.
const char* class_for(const std::string& name) {
  if (name == "tokenizer.json") return "PreTrainedTokenizerFast";
  return name == "vocab.txt" ? "BertTokenizer" : "GPT2Tokenizer";
}

std::string config_text(const std::string& reader,
                        const std::optional<std::string>& end) {
  std::string text = fmt::format("{{\n  \"tokenizer_class\": \"{}\"", reader);
  if (end) text += ",\n  \"eos_token\": " + json_string(*end);
  return text + "\n}\n";
}

}  // namespace

Result<std::vector<ExportedFile>> exported_files(const std::string& path) {
  const Result<Tokenizer> tokenizer = open_tokenizer(path);
  std::vector<ExportedFile> files;
  for (const FileToCopy& file : files_of(path)) {
    Result<std::string> text = read_file(file.source.string());
    if (!text) return text.errors();
    files.push_back({file.name, std::move(text).value()});
  }
  if (!tokenizer) {
    // A foreign directory may have a tokenizer that Chimera cannot read.
    std::error_code ignored;
    if (files.empty() || !fs::is_directory(path, ignored)) {
      return tokenizer.errors();
    }
    return files;
  }
  const auto is_there = [&](const char* name) {
    return std::ranges::find(files, name, &ExportedFile::name) != files.end();
  };
  const std::optional<TokenId> end = tokenizer->end_of_document();
  if (!is_there(kConfig)) {
    std::optional<std::string> end_text;
    if (end) end_text = tokenizer->decode({&*end, 1});
    files.push_back(
        {kConfig, config_text(class_for(files.front().name), end_text)});
  }
  if (end && !is_there(kGeneration)) {
    files.push_back(
        {kGeneration, fmt::format("{{\n  \"eos_token_id\": {}\n}}\n", *end)});
  }
  return files;
}

}  // namespace chimera
