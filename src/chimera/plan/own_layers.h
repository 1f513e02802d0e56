// What Chimera's own layers take in memory on a CPU, for predictions that
// nothing was measured for.
#pragma once

#include "chimera/config/run_config.h"
#include "chimera/plan/profile.h"

namespace chimera {

// A profile for bytes alone; its times mean nothing here. Fitted to what
// `chimera calibrate` measures of GPT-2, BERT and Llama, whose attention
// libtorch fuses unless it has a dropout.
// REQUIRES: the model's shape is known.
[[nodiscard]] Profile own_layers(const ModelConfig& model);

}  // namespace chimera
