// What is wrong with keys together, each being fine on its own.
#pragma once

#include <string_view>
#include <vector>

#include "chimera/config/draft.h"

namespace chimera {

// Missing keys and contradictions (E020 to E031). After fill_model().
void check_together(Draft& draft);

// The keys a run in training needs and `config` leaves open.
[[nodiscard]] std::vector<std::string_view> missing_for_training(
    const RunConfig& config);

}  // namespace chimera
