// AdamW, Adam and SGD, by libtorch's fused kernels.
#pragma once

#include <memory>

#include "chimera/config/run_config.h"
#include "chimera/model/optimizer.h"

namespace chimera {

// Rate, decay and betas as `train` says.
[[nodiscard]] std::shared_ptr<const Optimizer> make_optimizer(
    const TrainConfig& train);

}  // namespace chimera
