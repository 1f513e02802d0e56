// Finds the layout of token ids in a .bin file: raw (as nanoGPT writes it),
// behind the header of an llm.c shard, or with Megatron's index beside them.
// Also checks the description beside it (corpus.json).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/data/mapped_file.h"
#include "chimera/data/token_file.h"

namespace chimera {

// The ways to find the ends of documents; all are empty if there is none.
struct DocumentBorders {
  std::vector<std::int64_t> ends = {};  // token positions; from an index
  // Id at the end of every document.
  std::optional<std::int64_t> last = std::nullopt;
  // Id at the start of every document.
  std::optional<std::int64_t> first = std::nullopt;
};

struct BinLayout {
  size_t first_byte = 0;  // byte offset of the first id
  int width = 2;          // bytes per id
  DocumentBorders borders = {};
};

// Refuses a file that contradicts itself, the model's vocabulary, the tokenizer
// or the requested type.
[[nodiscard]] Result<BinLayout> find_bin_layout(
    const MappedFile& file, const TokenFileOptions& options);

// Finds the documents of a file. Reads all of it unless `borders` has the ends.
[[nodiscard]] std::vector<TokenRange> find_documents(
    const TokenIds& ids, const DocumentBorders& borders);

}  // namespace chimera
