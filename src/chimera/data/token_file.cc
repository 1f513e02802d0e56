#include "chimera/data/token_file.h"

#include <bit>
#include <filesystem>

#include "chimera/data/bin_layout.h"
#include "chimera/data/file_kind.h"
#include "chimera/data/id_range.h"
#include "chimera/data/jsonl.h"
#include "chimera/data/tokenized_text.h"
#include "chimera/tokenizer/corpus/blank_lines.h"

namespace chimera {
namespace {

static_assert(std::endian::native == std::endian::little,
              ".bin files are mapped as they are");

// The documents of a text in bytes, each including the line break after it.
std::vector<TokenRange> documents_of_text(std::string_view text) {
  std::vector<TokenRange> ranges;
  for (const std::string_view document : split_at_blanks(text)) {
    const auto begin = static_cast<size_t>(document.data() - text.data());
    const size_t end = std::min(begin + document.size() + 1, text.size());
    ranges.push_back({.begin = static_cast<std::int64_t>(begin),
                      .end = static_cast<std::int64_t>(end)});
  }
  return ranges;
}

}  // namespace

DataFormat format_of(const std::string& path) {
  const std::string_view name = path;
  if (name.ends_with(".bin")) return DataFormat::kBin;
  if (name.ends_with(".jsonl")) return DataFormat::kJsonl;
  return DataFormat::kText;
}

Diagnostics TokenFile::read_bin(const TokenFileOptions& options) {
  Result<BinLayout> layout = find_bin_layout(file_, options);
  if (!layout) return layout.errors();
  ids_ = TokenIds(file_.bytes().substr(layout->first_byte), layout->width);
  if (options.scan == Scan::kWhole) {
    Diagnostics errors = check_ids(ids_, path_, options.vocab);
    if (!errors.empty()) return errors;
  }
  if (options.finds_documents) {
    documents_ = find_documents(ids_, layout->borders);
  }
  return {};
}

Diagnostics TokenFile::read_bytes(const TokenFileOptions& options) {
  ids_ = TokenIds(file_.bytes(), 1);
  if (options.finds_documents) documents_ = documents_of_text(file_.bytes());
  return check_ids(ids_, path_, options.vocab);
}

Diagnostics TokenFile::read_jsonl(const TokenFileOptions& options) {
  Result<JoinedTexts> texts =
      join_documents({.text = file_.bytes(), .path = path_}, options.vocab);
  if (!texts) return texts.errors();
  JoinedTexts joined = std::move(texts).value();
  joined_ = std::move(joined.bytes);
  ids_ = TokenIds({joined_.data(), joined_.size()}, 1);
  Diagnostics errors = check_ids(ids_, path_, options.vocab);
  if (!errors.empty() || !options.finds_documents) return errors;
  std::int64_t begin = 0;
  for (const std::int64_t end : joined.ends) {
    documents_.push_back({.begin = begin, .end = end});
    begin = end;
  }
  return {};
}

// Replaces the text by the file of ids made from it.
Diagnostics TokenFile::read_text(const TokenFileOptions& options) {
  Result<TokenizedText> tokenized =
      tokenize_text(file_, *options.tokenizer,
                    {.by_blank_lines = options.finds_documents &&
                                       format_of(path_) == DataFormat::kText});
  if (!tokenized) return tokenized.errors();
  Result<MappedFile> ids = map_file(tokenized->path);
  if (!ids) return ids.errors();
  file_ = std::move(ids).value();
  TokenFileOptions trusted = options;
  trusted.scan = Scan::kTrusted;
  trusted.type = TokenType::kAuto;
  return read_bin(trusted);
}

Result<TokenFile> read_tokens(MappedFile file,
                              const TokenFileOptions& options) {
  if (auto other = other_kind(file)) return *other;
  const DataFormat format = format_of(file.path());
  TokenFile tokens(std::move(file));
  Diagnostics errors;
  if (format == DataFormat::kBin) {
    errors = tokens.read_bin(options);
  } else if (options.tokenizer != nullptr) {
    errors = tokens.read_text(options);
  } else if (format == DataFormat::kJsonl) {
    errors = tokens.read_jsonl(options);
  } else {
    errors = tokens.read_bytes(options);
  }
  if (!errors.empty()) return errors;
  return tokens;
}

}  // namespace chimera
