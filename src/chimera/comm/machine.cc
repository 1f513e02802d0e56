#include "chimera/comm/machine.h"

#include <fstream>
#include <functional>
#include <string>

namespace chimera {

std::uint64_t machine_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  return file >> text ? std::hash<std::string>()(text) : 0;
}

}  // namespace chimera
