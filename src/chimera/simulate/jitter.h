// Random factors on the times of the actions of one simulated play:
// independent, log-normal, with mean 1.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "chimera/base/counter_random.h"

namespace chimera::simulating {

class Jitter {
 public:
  // `deviation`: standard deviation as a fraction of an action's time; 0 =
  // none.
  Jitter(double deviation, int play)
      : sigma_(std::sqrt(std::log1p(deviation * deviation))),
        random_(RandomUse::kJitter, {static_cast<std::uint64_t>(play)}) {}

  double next() {
    if (sigma_ == 0) return 1;
    // A normal number from two uniform ones, by the Box-Muller transform.
    const double radius =
        std::sqrt(-2 * std::log1p(-random_.uniform(2 * drawn_)));
    const double angle = 2 * std::numbers::pi * random_.uniform(2 * drawn_ + 1);
    ++drawn_;
    return std::exp(sigma_ * radius * std::cos(angle) - sigma_ * sigma_ / 2);
  }

 private:
  double sigma_;
  CounterRandom random_;
  std::uint64_t drawn_ = 0;
};

}  // namespace chimera::simulating
