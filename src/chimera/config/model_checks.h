// Checks combinations of the keys of [model].
#pragma once

#include "chimera/config/draft.h"

namespace chimera {

// Reports missing keys, keys of another kind of model, and shapes that do not
// fit (E020 to E022, E026 to E028, E030, E038). REQUIRES: fill_model() was
// called.
void check_model(Draft& draft);

}  // namespace chimera
