// How token ids lie in a .bin file: raw (nanoGPT's), behind the header of an
// llm.c shard, or with Megatron's index beside them; and what the description
// beside it (corpus.json) says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/data/mapped_file.h"
#include "chimera/data/token_file.h"

namespace chimera {

// What tells documents apart, if anything does.
struct DocumentBorders {
  std::vector<std::int64_t> ends = {};              // in tokens; of an index
  std::optional<std::int64_t> last = std::nullopt;  // id at each end
  // token id that starts every document
  std::optional<std::int64_t> first = std::nullopt;
};

struct BinLayout {
  size_t first_byte = 0;  // of the ids
  int width = 2;          // bytes of an id
  DocumentBorders borders = {};
};

// Refuses what contradicts itself, the model's vocabulary, the tokenizer or the
// type asked for.
[[nodiscard]] Result<BinLayout> find_bin_layout(
    const MappedFile& file, const TokenFileOptions& options);

// The documents of a file. Reads all of it unless `borders` has the ends.
[[nodiscard]] std::vector<TokenRange> find_documents(
    const TokenIds& ids, const DocumentBorders& borders);

}  // namespace chimera
