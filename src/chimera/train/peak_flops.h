// How fast this machine multiplies matrices: what MFU is measured against.
#pragma once

namespace chimera {

// float32 operations per second of all cores, best of a few products of
// 1024 x 1024 matrices. Takes about a tenth of a second.
[[nodiscard]] double measure_peak_flops();

}  // namespace chimera
