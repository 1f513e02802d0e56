// The processors of this process.
#pragma once

#include "chimera/config/names.h"

namespace chimera {

// Number of cores that this process may run on, given taskset, a launcher's
// binding or a container.
[[nodiscard]] int usable_cores();

// Number of cores that the `ranks_here` ranks of this host have together. A
// launcher may have bound each of them to some cores.
[[nodiscard]] int cores_of_ranks(int ranks_here);

// Operations per second of all cores that this process may run on, in products
// of matrices of `precision`.
[[nodiscard]] double measure_peak_flops(Precision precision);

}  // namespace chimera
