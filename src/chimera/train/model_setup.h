// The model that a run.toml asks for: its layers, and where its first weights
// come from (a seed, or a Hugging Face directory).
#pragma once

#include "chimera/base/result.h"
#include "chimera/train/setup.h"

namespace chimera {

// Fills in setup.model, hf_shape, init and notices, and in setup.config the
// shape that model.init gives. Everything wrong with the directory otherwise.
// Where a checkpoint says of which model it is (`saved`), model.init is not
// read, and start.init is left to it.
[[nodiscard]] Diagnostics set_up_model(RunSetup& setup,
                                       const HfShape* saved = nullptr);

}  // namespace chimera
