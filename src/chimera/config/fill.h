// The keys that other keys decide.
#pragma once

#include "chimera/config/draft.h"

namespace chimera {

// Settles the model's kind and fills in its shape: keys given in the file win
// over the preset, the preset over the defaults (positions = seq, ffn =
// 4*hidden, tied embeddings). With model.init only what was given is there.
void fill_model(Draft& draft);

}  // namespace chimera
