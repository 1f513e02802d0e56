// The processors of this process.
#pragma once

namespace chimera {

// Number of cores that this process may run on, given taskset, a launcher's
// binding or a container.
[[nodiscard]] int usable_cores();

// Cores of this host for all of its ranks, of which there are `ranks_here`; a
// launcher may have bound each of them to some cores.
[[nodiscard]] int cores_of_ranks(int ranks_here);

// float32 operations per second of all cores that this process may run on.
[[nodiscard]] double measure_peak_flops();

}  // namespace chimera
