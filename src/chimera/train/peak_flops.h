// Measures how fast this machine multiplies matrices. MFU is relative to this.
#pragma once

#include <functional>

#include "chimera/comm/transport.h"

namespace chimera {

// Float32 operations per second of this process with `threads` threads:
// products of 1024 x 1024 matrices, the best of a few windows of 30 ms. Takes
// about 0.16 s.
[[nodiscard]] double measure_peak_flops(int threads);

// Sums over all ranks what `measure` finds while all of them measure at once,
// since they may share cores. All ranks call it.
[[nodiscard]] double sum_of_peaks(Transport& transport,
                                  const std::function<double()>& measure);

}  // namespace chimera
