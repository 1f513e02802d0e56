// A corpus as one long list of token ids, whatever file it comes from, with the
// places of its documents. Ids in a file are mapped, not read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/names.h"
#include "chimera/data/mapped_file.h"
#include "chimera/data/token_ids.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

// The content of a file, determined by the end of its name.
enum class DataFormat {
  kText,   // any other name
  kBin,    // .bin: token ids
  kJsonl,  // .jsonl: one JSON object per line
};
[[nodiscard]] DataFormat format_of(const std::string& path);

// Whether all of a .bin file is read before its first sample. One process of a
// run is enough, since the file may have many gigabytes.
enum class Scan : std::uint8_t { kWhole, kTrusted };

// Tokens begin .. end - 1 of a file.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
  bool operator==(const TokenRange&) const = default;
};

struct TokenFileOptions {
  int vocab = 0;
  const Tokenizer* tokenizer = nullptr;  // for text; null: bytes are ids
  TokenType type = TokenType::kAuto;     // for .bin files
  Scan scan = Scan::kWhole;
  bool finds_documents = false;
};

class TokenFile {
 public:
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t size() const { return ids_.size(); }
  // REQUIRES: 0 <= index < size().
  [[nodiscard]] std::int64_t operator[](std::int64_t index) const {
    return ids_[index];
  }
  // Ascending and disjoint; empty unless requested. A file without information
  // about documents is one document.
  [[nodiscard]] const std::vector<TokenRange>& documents() const {
    return documents_;
  }

 private:
  friend Result<TokenFile> read_tokens(MappedFile file,
                                       const TokenFileOptions& options);
  explicit TokenFile(MappedFile file)
      : path_(file.path()), file_(std::move(file)) {}

  [[nodiscard]] Diagnostics read_bin(const TokenFileOptions& options);
  [[nodiscard]] Diagnostics read_bytes(const TokenFileOptions& options);
  [[nodiscard]] Diagnostics read_jsonl(const TokenFileOptions& options);
  [[nodiscard]] Diagnostics read_text(const TokenFileOptions& options);

  std::string path_;
  MappedFile file_;
  std::vector<char> joined_;  // texts of JSONL, as bytes
  // A view of file_ or joined_. Moving this object moves neither.
  TokenIds ids_;
  std::vector<TokenRange> documents_;
};

// ENSURES: every id is below `vocab`, unless the file is trusted.
[[nodiscard]] Result<TokenFile> read_tokens(MappedFile file,
                                            const TokenFileOptions& options);

}  // namespace chimera
