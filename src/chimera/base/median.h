// The middle of measured values: what a busy machine adds now and then does not
// move it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace chimera {

// The upper one of two; 0 of none.
[[nodiscard]] inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace chimera
