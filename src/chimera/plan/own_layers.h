// What Chimera's own layers take in memory on a CPU, for predictions that
// nothing was measured for.
#pragma once

#include "chimera/config/run_config.h"
#include "chimera/plan/profile.h"

namespace chimera {

// A profile of which only the bytes are meaningful. Fitted to what `chimera
// calibrate` measures for GPT-2, BERT and Llama, whose attention libtorch fuses
// unless it has dropout. REQUIRES: the model's shape is known.
[[nodiscard]] Profile own_layers(const ModelConfig& model);

}  // namespace chimera
