#include "chimera/data/bin_layout.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <string>

#include "chimera/data/file_kind.h"
#include "chimera/tokenizer/corpus/corpus_description.h"
#include "chimera/tokenizer/corpus/megatron_index.h"

namespace chimera {
namespace {

std::string type_name(int width) { return "uint" + std::to_string(8 * width); }

int width_of(TokenType type) {
  if (type == TokenType::kAuto) return 0;
  return type == TokenType::kUint16 ? 2 : 4;
}

Diagnostic mistake(const char* code, const std::string& where,
                   const std::string& found) {
  return {.kind = DiagnosticKind::kData,
          .code = code,
          .where = where,
          .found = found};
}

// The width and number of ids that the file or its index declares.
struct Declared {
  BinLayout layout;
  std::int64_t tokens = 0;
  std::string by;  // the declaring file
};

// llm.c's shards start with 256 int32: magic, version, number of ids, zeros.
// Documents start with the end-of-text token of GPT-2, or with Llama 3's first
// token.
std::optional<Declared> llmc_header(const MappedFile& file) {
  struct Kind {
    std::int32_t magic, version;
    int width;
    std::int64_t first_id;
  };
  constexpr auto kKinds =
      std::to_array<Kind>({{20240520, 1, 2, 50256}, {20240801, 7, 4, 128000}});
  constexpr size_t kHeaderBytes = 1024;
  std::array<std::int32_t, 3> header{};
  if (file.bytes().size() < kHeaderBytes) return std::nullopt;
  std::memcpy(header.data(), file.bytes().data(), sizeof header);
  for (const Kind& kind : kKinds) {
    if (header[0] != kind.magic || header[1] != kind.version) continue;
    Declared declared;
    declared.layout.first_byte = kHeaderBytes;
    declared.layout.width = kind.width;
    declared.layout.borders.first = kind.first_id;
    declared.tokens = header[2];
    declared.by = file.path();
    return declared;
  }
  return std::nullopt;
}

Result<std::optional<Declared>> megatron_index(const std::string& corpus) {
  const std::string path = index_path(corpus);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<Declared>();
  const Result<MappedFile> file = map_file(path);
  if (!file) return file.errors();
  Result<MegatronIndex> parsed = parse_megatron_index(file->bytes(), path);
  if (!parsed) return parsed.errors();
  MegatronIndex index = std::move(parsed).value();
  Declared declared;
  declared.layout.width = index.bytes_per_id;
  declared.layout.borders.ends = std::move(index.document_ends);
  declared.tokens = index.tokens;
  declared.by = path;
  return std::optional(std::move(declared));
}

Diagnostics check_size(const MappedFile& file, const Declared& declared) {
  const size_t bytes = file.bytes().size() - declared.layout.first_byte;
  const auto width = static_cast<size_t>(declared.layout.width);
  if (static_cast<size_t>(declared.tokens) * width == bytes) return {};
  Diagnostic error = mistake("E516", file.path(), std::to_string(bytes));
  error.found += " bytes of ids";
  error.needed = "contradict " + declared.by + ", which says " +
                 std::to_string(declared.tokens) + " of " +
                 std::to_string(width) + " bytes";
  error.hint = "do the two belong together, and are both whole?";
  return {error};
}

Diagnostics check_even(const MappedFile& file, int width) {
  const size_t size = file.bytes().size();
  if (size % static_cast<size_t>(width) == 0) return {};
  Diagnostic error =
      mistake("E503", file.path() + ", byte " + std::to_string(size - 1),
              std::to_string(size) + " bytes");
  error.needed = width == 2 ? "must be an even number, two bytes a token"
                            : "must be a multiple of four, four bytes a token";
  error.hint =
      "write it as " + type_name(width) + "; was it written to its end?";
  return {error};
}

// Compares the description beside a corpus with this run.
Diagnostics check_description(const CorpusDescription& description,
                              const MappedFile& file,
                              const TokenFileOptions& options) {
  const std::string path = description_path(file.path());
  Diagnostics errors;
  const size_t bytes = file.bytes().size();
  const size_t width = description.wide ? 4 : 2;
  if (static_cast<size_t>(description.tokens) * width != bytes) {
    Diagnostic error =
        mistake("E517", path, std::to_string(description.tokens) + " tokens");
    error.needed = "are not what " + file.path() +
                   " holds: " + std::to_string(bytes) + " bytes";
    error.hint = "was the .bin written anew? Tokenize it again";
    errors.push_back(error);
  }
  if (description.vocab > options.vocab) {
    Diagnostic error = mistake(
        "E518", path,
        "a vocabulary of " + std::to_string(description.vocab) + " ids");
    error.needed =
        "is larger than model.vocab = " + std::to_string(options.vocab);
    error.hint = "set model.vocab = " + std::to_string(description.vocab);
    errors.push_back(error);
  }
  if (options.tokenizer != nullptr &&
      hash_text(*options.tokenizer) != description.tokenizer_hash) {
    Diagnostic error = mistake("E519", path,
                               "the tokenizer of this corpus (hash " +
                                   description.tokenizer_hash + ")");
    error.needed =
        "is not data.tokenizer (hash " + hash_text(*options.tokenizer) + ")";
    error.hint = "name the tokenizer it was made with, or tokenize it again";
    errors.push_back(error);
  }
  return errors;
}

Diagnostics check_type(const BinLayout& layout, const std::string& by,
                       const TokenFileOptions& options,
                       const std::string& path) {
  const int asked = width_of(options.type);
  if (asked == 0 || asked == layout.width) return {};
  Diagnostic error = mistake(
      "E513", path,
      "data.token_type = \"" + std::string(name_of(options.type)) + "\"");
  error.needed =
      "contradicts " + by + ", which says " + type_name(layout.width);
  error.hint = "leave data.token_type out";
  return {error};
}

}  // namespace

Result<BinLayout> find_bin_layout(const MappedFile& file,
                                  const TokenFileOptions& options) {
  const std::string& path = file.path();
  std::optional<Declared> declared = llmc_header(file);
  if (!declared) {
    Result<std::optional<Declared>> index = megatron_index(path);
    if (!index) return index.errors();
    declared = std::move(index).value();
  }
  Diagnostics errors;
  if (declared) errors = check_size(file, *declared);
  if (!errors.empty()) return errors;
  Result<std::optional<CorpusDescription>> description = read_description(path);
  if (!description) return description.errors();
  if (description->has_value()) {
    const CorpusDescription& said = **description;
    errors = check_description(said, file, options);
    if (!declared) {
      declared.emplace();
      declared->layout.width = said.wide ? 4 : 2;
      declared->by = description_path(path);
    }
    declared->layout.borders.last = said.end_of_document;
  }
  if (declared) {
    const Diagnostics more =
        check_type(declared->layout, declared->by, options, path);
    errors.insert(errors.end(), more.begin(), more.end());
    if (!errors.empty()) return errors;
    return declared->layout;
  }
  BinLayout layout{.width = options.type == TokenType::kUint32 ? 4 : 2};
  if (options.tokenizer != nullptr) {
    layout.borders.last = options.tokenizer->end_of_document();
  }
  errors = check_even(file, layout.width);
  if (!errors.empty()) return errors;
  if (auto wide = wider_ids(TokenIds(file.bytes(), layout.width), path)) {
    return *wide;
  }
  return layout;
}

std::vector<TokenRange> find_documents(const TokenIds& ids,
                                       const DocumentBorders& borders) {
  std::vector<TokenRange> documents;
  std::int64_t begin = 0;
  const auto end_at = [&](std::int64_t end) {
    if (end > begin) documents.push_back({.begin = begin, .end = end});
    begin = end;
  };
  if (!borders.ends.empty()) {
    for (const std::int64_t end : borders.ends) end_at(end);
  } else if (borders.last) {
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == *borders.last) end_at(i + 1);
    }
  } else if (borders.first) {
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == *borders.first) end_at(i);
    }
  }
  end_at(ids.size());
  return documents;
}

}  // namespace chimera
