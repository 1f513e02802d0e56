// How fast this machine multiplies matrices: what MFU is measured against.
#pragma once

#include <functional>

#include "chimera/comm/transport.h"

namespace chimera {

// float32 operations per second of this process with so many threads: products
// of 1024 x 1024 matrices, the best of a few windows of 30 ms. Takes about a
// sixth of a second.
[[nodiscard]] double measure_peak_flops(int threads);

// The sum over all ranks of what `measure` finds while all of them measure:
// they may share cores. All ranks call it.
[[nodiscard]] double sum_of_peaks(Transport& transport,
                                  const std::function<double()>& measure);

}  // namespace chimera
