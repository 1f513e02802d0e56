#include "chimera/run/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace chimera {

int usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
    return CPU_COUNT(&cores);
  }
  // The host has more cores than cpu_set_t can hold.
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace chimera
