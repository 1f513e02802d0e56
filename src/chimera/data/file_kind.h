// Recognises files that are not what they should be: other formats by their
// first bytes, wider ids by their zeros. Training on such files would run
// without an error and learn nothing.
#pragma once

#include <optional>

#include "chimera/base/result.h"
#include "chimera/data/mapped_file.h"
#include "chimera/data/token_ids.h"

namespace chimera {

// E514 if the file starts like an archive, a NumPy file, a Parquet file, and so
// on.
[[nodiscard]] std::optional<Diagnostic> other_kind(const MappedFile& file);

// E515 if the ids seem to be two or four times as wide as they are read.
[[nodiscard]] std::optional<Diagnostic> wider_ids(const TokenIds& ids,
                                                  const std::string& path);

}  // namespace chimera
