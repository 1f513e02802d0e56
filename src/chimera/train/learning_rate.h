// The learning rate of each step: up over the warm-up, then down as asked.
#pragma once

#include <cstdint>

#include "chimera/config/run_config.h"

namespace chimera {

// Step counts from 0. During the warm-up the rate is lr * (step + 1) / warmup;
// afterwards it goes from lr towards min_lr over the steps that are left,
// along a line or half a cosine, or stays.
// REQUIRES: steps and lr are there.
[[nodiscard]] double learning_rate(const TrainConfig& train, std::int64_t step);

}  // namespace chimera
