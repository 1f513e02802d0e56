#include "chimera/base/check.h"

namespace chimera {

void fail_check(const char* file, int line, const std::string& message) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) +
                      ": check failed: " + message);
}

}  // namespace chimera
