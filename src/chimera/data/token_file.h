// A corpus as one long list of token ids, whatever file it comes from. Where
// the file is the tokens (text by bytes, .bin) it is mapped, not read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/data/mapped_file.h"

namespace chimera {

// What a file holds, told by the end of its name.
enum class DataFormat {
  kText,   // any other name: one token a byte
  kBin,    // .bin: little-endian uint16 ids
  kJsonl,  // .jsonl: one JSON object a line
};
[[nodiscard]] DataFormat format_of(const std::string& path);

// Whether all of a .bin file is read before its first sample is. One process of
// a run is enough, and the file may be many gigabytes.
enum class Scan : std::uint8_t { kWhole, kTrusted };

class TokenFile {
 public:
  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(bytes_.size() + words_.size());
  }
  // REQUIRES: 0 <= index < size().
  [[nodiscard]] std::int64_t operator[](std::int64_t index) const {
    const auto i = static_cast<size_t>(index);
    return words_.empty() ? std::int64_t{bytes_[i]} : std::int64_t{words_[i]};
  }

 private:
  friend Result<TokenFile> read_tokens(MappedFile file, int vocab, Scan scan);
  // The views stay valid in a move: neither mapping nor heap block moves.
  TokenFile(MappedFile file, std::vector<std::uint8_t> joined)
      : file_(std::move(file)), joined_(std::move(joined)) {}

  MappedFile file_;
  std::vector<std::uint8_t> joined_;      // JSONL: the documents
  std::span<const std::uint8_t> bytes_;   // one of the two
  std::span<const std::uint16_t> words_;  // is empty
};

// ENSURES: every id is below `vocab`, unless the file is trusted.
[[nodiscard]] Result<TokenFile> read_tokens(MappedFile file, int vocab,
                                            Scan scan = Scan::kWhole);

}  // namespace chimera
