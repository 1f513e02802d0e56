// Maps the n-th sample of a run to a sample of one of the corpus's parts.
// Without weights, an epoch is a permutation of all samples of all parts. With
// weights, each part gets a proportional share of an epoch, and goes through
// all its samples in an order of its own before any of them comes again.
#pragma once

#include <cstdint>
#include <vector>

#include "chimera/data/order.h"

namespace chimera {

struct MixtureOptions {
  SampleOrder order = SampleOrder::kShuffled;
  std::int64_t seed = 0;
  std::vector<std::int64_t> sizes = {};  // samples per part; none is 0
  std::vector<double> weights = {};      // one per part, or empty
};

class Mixture {
 public:
  Mixture() = default;
  explicit Mixture(MixtureOptions options);

  // Draws per epoch.
  [[nodiscard]] std::int64_t size() const { return ends_.back(); }
  // The n-th draw. Its sample is numbered over all parts. REQUIRES: number >=
  // 0.
  [[nodiscard]] Draw draw(std::int64_t number) const;

 private:
  MixtureOptions options_;
  // [part]: running totals of the draws in one epoch.
  std::vector<std::int64_t> ends_;
  std::vector<std::int64_t> firsts_;  // number of each part's first sample
};

}  // namespace chimera
