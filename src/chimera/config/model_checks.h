// What is wrong with the keys of [model] together.
#pragma once

#include "chimera/config/draft.h"

namespace chimera {

// Missing keys, keys of another kind of model, shapes that do not fit (E020 to
// E022, E026 to E028, E030). After fill_model().
void check_model(Draft& draft);

}  // namespace chimera
