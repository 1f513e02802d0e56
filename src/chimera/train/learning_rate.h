// The learning rate of each step: a warm-up, then the decay that train.decay
// names.
#pragma once

#include <cstdint>

#include "chimera/config/run_config.h"

namespace chimera {

// Returns the rate of `step`, which counts from 0. During the warm-up it is lr
// * (step + 1) / warmup. Afterwards it falls from lr to min_lr over the
// remaining steps, linearly or along half a cosine, or stays constant.
// REQUIRES: steps and lr are set.
[[nodiscard]] double learning_rate(const TrainConfig& train, std::int64_t step);

}  // namespace chimera
