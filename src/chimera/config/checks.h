// Checks combinations of keys. Each key by itself was checked before.
#pragma once

#include <string_view>
#include <vector>

#include "chimera/config/draft.h"

namespace chimera {

// Reports missing keys and contradictions (E020 to E031). REQUIRES:
// fill_model() was called.
void check_together(Draft& draft);

// The keys that training needs and `config` does not have.
[[nodiscard]] std::vector<std::string_view> missing_for_training(
    const RunConfig& config);

}  // namespace chimera
