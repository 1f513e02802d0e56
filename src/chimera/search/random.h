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

 private:
  CounterRandom stream_;
  std::uint64_t next_ = 0;
};

}  // namespace chimera::ordering
