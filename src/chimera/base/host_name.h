// The name of this host.
#pragma once

#include <string>

namespace chimera {

[[nodiscard]] std::string host_name();

}  // namespace chimera
