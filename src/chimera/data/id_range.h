// Checks that the ids of a file are in the model's vocabulary.
#pragma once

#include <string>

#include "chimera/base/result.h"
#include "chimera/data/token_ids.h"

namespace chimera {

// E505 for the first id that is not below `vocab`, with its index.
[[nodiscard]] Diagnostics check_ids(const TokenIds& ids,
                                    const std::string& path, int vocab);

}  // namespace chimera
