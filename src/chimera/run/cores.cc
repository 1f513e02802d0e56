#include "chimera/run/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "chimera/train/peak_flops.h"

namespace chimera {

int usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
    return CPU_COUNT(&cores);
  }
  // The host has more cores than cpu_set_t can hold.
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

int cores_of_ranks(int ranks_here) {
  const long online = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  return static_cast<int>(
      std::min(online, static_cast<long>(usable_cores()) * ranks_here));
}

double measure_peak_flops(Precision precision) {
  return usable_cores() * measure_core_flops(usable_cores(), precision);
}

}  // namespace chimera
