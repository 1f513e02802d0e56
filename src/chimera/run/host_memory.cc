#include "chimera/run/host_memory.h"

#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>

namespace chimera {

double total_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(sysconf(_SC_PAGESIZE));
}

double free_memory() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  double kilobytes = 0;
  while (info >> name >> kilobytes) {
    if (name == "MemAvailable:") return 1024 * kilobytes;
    info.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace chimera
