// Determines which sample is the n-th of a run. The order is endless: epoch
// after epoch, each a new permutation of all samples. Any place in it is
// computed directly, so every worker and every restart sees the same order
// without storing it.
#pragma once

#include <cstdint>

#include "chimera/config/names.h"

namespace chimera {

// One use of one sample.
struct Draw {
  std::int64_t number = 0;  // n, counted over the whole run
  std::int64_t epoch = 0;
  std::int64_t sample = 0;  // index in the file, from 0

  bool operator==(const Draw&) const = default;
};

struct OrderOptions {
  SampleOrder order = SampleOrder::kShuffled;
  std::int64_t seed = 0;
  std::int64_t num_samples = 0;  // at least 1
};

// The n-th draw. Takes constant memory and a few dozen multiplications.
// REQUIRES: number >= 0.
[[nodiscard]] Draw draw_of(std::int64_t number, const OrderOptions& options);

}  // namespace chimera
