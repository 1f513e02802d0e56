// Random factors on the times of actions: log-normal with mean 1. A factor
// depends only on the play (which selects the random numbers), the step and the
// action. Orders are therefore compared under the same noise, and emulated
// stages vary exactly as the simulator says.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "chimera/base/counter_random.h"
#include "chimera/schedule/action.h"

namespace chimera {

class Jitter {
 public:
  // `deviation`: standard deviation as a fraction of an action's time; 0 =
  // none. `play` selects the random numbers.
  Jitter(double deviation, int play)
      : sigma_(std::sqrt(std::log1p(deviation * deviation))), play_(play) {}

  // Uses op, part, pipe, stage, micro and group of `action`.
  [[nodiscard]] double factor(const Action& action, int step) const {
    if (sigma_ == 0) return 1;
    const CounterRandom random(
        RandomUse::kJitter,
        {word(play_, step), word(static_cast<int>(action.op), action.part),
         word(action.pipe, action.stage), word(action.micro, action.group)});
    // A normal number from two uniform ones, by the Box-Muller transform.
    const double radius = std::sqrt(-2 * std::log1p(-random.uniform(0)));
    const double angle = 2 * std::numbers::pi * random.uniform(1);
    return std::exp(sigma_ * radius * std::cos(angle) - sigma_ * sigma_ / 2);
  }

 private:
  static std::uint64_t word(int high, int low) {
    return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 |
           static_cast<std::uint32_t>(low);
  }

  double sigma_;
  int play_;
};

}  // namespace chimera
