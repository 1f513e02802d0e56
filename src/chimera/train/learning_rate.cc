#include "chimera/train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace chimera {

double learning_rate(const TrainConfig& train, std::int64_t step) {
  const double lr = *train.lr;
  if (step < train.warmup) {
    return lr * static_cast<double>(step + 1) / train.warmup;
  }
  const double left = std::max(1, *train.steps - train.warmup);
  const double done =
      std::min(1.0, static_cast<double>(step - train.warmup) / left);
  switch (train.decay) {
    case LrDecay::kConstant:
      return lr;
    case LrDecay::kLinear:
      return lr + (train.min_lr - lr) * done;
    case LrDecay::kCosine:
      return train.min_lr +
             (lr - train.min_lr) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }
  return lr;
}

}  // namespace chimera
