// Fills in keys that other keys determine.
#pragma once

#include "chimera/config/draft.h"

namespace chimera {

// Determines the model's kind and fills in its shape. Keys given in the file
// win over the preset, and the preset wins over the defaults (positions = seq,
// ffn = 4*hidden, tied embeddings). With model.init, only given keys are set.
void fill_model(Draft& draft);

}  // namespace chimera
