// Where a model's flat list of layers is cut into stages. A cut is the first
// layer of each stage, so it starts with 0.
#pragma once

#include <span>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

// The cut whose dearest stage costs least; among those, the one with the least
// sum of squared costs. Every stage has at least one layer. Takes
// O(stages * layers^2).
// REQUIRES: 1 <= stages <= costs.size(), and no negative costs.
[[nodiscard]] std::vector<int> balanced_cut(std::span<const double> costs,
                                            int stages);

// Everything that is wrong with a cut into `stages` stages; empty: nothing. An
// empty cut stands for the balanced one.
[[nodiscard]] Diagnostics check_cut(std::span<const int> cut, int stages,
                                    int layers);

}  // namespace chimera
