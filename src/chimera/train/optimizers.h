// AdamW, Adam and SGD, by libtorch's fused kernels.
#pragma once

#include <memory>

#include "chimera/config/run_config.h"
#include "chimera/model/optimizer.h"

namespace chimera {

// Learning rate, decay and betas come from `train`.
[[nodiscard]] std::shared_ptr<const Optimizer> make_optimizer(
    const TrainConfig& train);

}  // namespace chimera
