// What a file seems to be when it is not what it should be: other formats by
// their first bytes, wide ids by their zeros. Such files would train without a
// complaint, and teach nothing.
#pragma once

#include <optional>

#include "chimera/base/result.h"
#include "chimera/data/mapped_file.h"
#include "chimera/data/token_ids.h"

namespace chimera {

// E514 if the file starts as an archive, a NumPy or a Parquet file, ... does.
[[nodiscard]] std::optional<Diagnostic> other_kind(const MappedFile& file);

// E515 if the ids seem to be twice or four times as wide as they are read.
[[nodiscard]] std::optional<Diagnostic> wider_ids(const TokenIds& ids,
                                                  const std::string& path);

}  // namespace chimera
