// Sets up the model that a run.toml asks for: its layers, and the source of its
// first weights (a seed or a Hugging Face directory).
#pragma once

#include "chimera/base/result.h"
#include "chimera/train/setup.h"

namespace chimera {

// Sets setup.model, hf_shape, init and notices, and in setup.config the shape
// that model.init gives; returns all errors of the directory. With `saved`, the
// shape in a checkpoint, model.init is not read and start.init is left to the
// checkpoint.
[[nodiscard]] Diagnostics set_up_model(RunSetup& setup,
                                       const HfShape* saved = nullptr);

}  // namespace chimera
