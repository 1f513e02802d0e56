#include "chimera/base/host_name.h"

#include <unistd.h>

#include <climits>

namespace chimera {

std::string host_name() {
  char text[HOST_NAME_MAX + 1] = "";
  gethostname(text, sizeof text - 1);
  return text;
}

}  // namespace chimera
