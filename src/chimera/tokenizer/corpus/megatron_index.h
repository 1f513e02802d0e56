// Megatron's index of a corpus: corpus.idx gives the places of the documents in
// corpus.bin.
//
//   "MMIDIDX\0\0"   9 bytes
//   version         uint64, 1
//   type of an id   uint8: 1 uint8, 4 int32, 8 uint16, ...
//   sequences S     uint64
//   documents + 1   uint64
//   lengths         S x int32, in ids
//   places          S x int64, in bytes of corpus.bin
//   first sequences (documents + 1) x int64: of each document, then S
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

struct MegatronIndex {
  int bytes_per_id = 2;  // 1, 2 or 4
  std::int64_t tokens = 0;
  std::vector<std::int64_t> document_ends = {};  // in tokens, ascending
};

// The name of the index beside a corpus: corpus.bin -> corpus.idx.
[[nodiscard]] std::string index_path(const std::string& corpus);

// Parses an index. Refuses (E516) an index that is broken, that has ids other
// than uint8, uint16 and int32, or whose sequences leave gaps.
[[nodiscard]] Result<MegatronIndex> parse_megatron_index(
    std::string_view bytes, const std::string& path);

// Writes `path` whole or not at all. Throws IoError.
void write_megatron_index(const std::string& path, const MegatronIndex& index);

}  // namespace chimera
