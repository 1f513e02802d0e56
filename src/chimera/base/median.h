// The median of measured values, which occasional delays on a busy machine do
// not move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace chimera {

// The median, the upper one of an even number of values; 0 of no values.
[[nodiscard]] inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace chimera
