// Random numbers of the searches: one stream for every seed, the same on every
// machine.
#pragma once

#include "chimera/base/counter_random.h"

namespace chimera::ordering {

class Random {
 public:
  explicit Random(std::uint64_t seed) : stream_(RandomUse::kPlanning, {seed}) {}

  // In [0, limit).
  int below(int limit) {
    return static_cast<int>(stream_.below(next_++, limit));
  }
  // In [low, high).
  double between(double low, double high) {
    return low + (high - low) * stream_.uniform(next_++);
  }
  bool one_in(int count) { return below(count) == 0; }
  // About normal, with mean 0: the sum of four uniform numbers.
  double normal(double deviation) {
    const std::uint64_t bits = stream_.bits(next_++);
    constexpr std::uint64_t kPart = 0xFFFF;
    const std::uint64_t sum = (bits & kPart) + (bits >> 16 & kPart) +
                              (bits >> 32 & kPart) + (bits >> 48);
    // Each part has a variance of 1/12.
    constexpr double kScale = 1.7320508075688772 / 0x1p16;
    return deviation * kScale * (static_cast<double>(sum) - 2 * 65535.0);
  }

 private:
  CounterRandom stream_;
  std::uint64_t next_ = 0;
};

}  // namespace chimera::ordering
