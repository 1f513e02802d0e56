// Cuts a model's list of layers into stages. A cut is the list of the first
// layers of the stages, so it starts with 0.
#pragma once

#include <span>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

// The cut whose most expensive stage costs least; among those, the one with the
// least sum of squared costs. Every stage has at least one layer. Complexity:
// O(stages * layers^2).
// REQUIRES: 1 <= stages <= costs.size(), and no cost is negative.
[[nodiscard]] std::vector<int> balanced_cut(std::span<const double> costs,
                                            int stages);

// Everything that is wrong with a cut into `stages` stages; none if it is
// valid. An empty cut is valid and means the balanced one.
[[nodiscard]] Diagnostics check_cut(std::span<const int> cut, int stages,
                                    int layers);

}  // namespace chimera
