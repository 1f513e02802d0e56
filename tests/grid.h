// The grid of layouts that every scheme is tested over.
#pragma once

#include <string>
#include <vector>

#include "chimera/schedule/scheme.h"

namespace chimera::testing {

// True in `./dev test --slow`: the whole grid is tested.
[[nodiscard]] bool full_grid();

// A layout in words: "chimera D=8 N=16 pipes=2 chunks=1 direct".
[[nodiscard]] std::string text_of(const ScheduleSpec& spec);

// Every legal layout of `scheme` with this depth and these micro-batch counts:
// every f, chunks 2 and 4, every scale mode; planned orders on seven
// placements.
[[nodiscard]] std::vector<ScheduleSpec> layouts(const Scheme& scheme, int depth,
                                                const std::vector<int>& micros);

// All schemes at depths 1..32 and every N up to 4D; unless full_grid(), a
// subset that covers every case.
[[nodiscard]] std::vector<ScheduleSpec> grid();

}  // namespace chimera::testing
