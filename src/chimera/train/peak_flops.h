// Measures how fast this machine multiplies matrices. MFU is relative to this.
#pragma once

#include <functional>
#include <string>

#include "chimera/comm/transport.h"
#include "chimera/config/names.h"

namespace chimera {

// Operations per second of one core while `threads` threads of this process
// compute: products of 1024 x 1024 matrices of `precision`, the best of a few
// windows of 30 ms. Counts the threads' processor time, not the time on the
// clock, so that other programs on the machine do not lower the result. Takes a
// sixth of a second on an idle machine, about half a second on a busy one.
[[nodiscard]] double measure_core_flops(
    int threads, Precision precision = Precision::kFloat32);

// Why an MFU is above 1, for the user; empty if it is not.
[[nodiscard]] std::string explain_mfu(double mfu);

// The sum over all ranks of what `measure` finds while all of them measure:
// they may share caches and memory. All ranks call it.
[[nodiscard]] double sum_of_peaks(Transport& transport,
                                  const std::function<double()>& measure);

}  // namespace chimera
