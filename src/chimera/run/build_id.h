// Which compilation this is.
#pragma once

#include <string>

namespace chimera {

// The linker's id of the library that this code is in, in hex: other sources,
// another compiler or other flags give another. "unknown" if it has none.
[[nodiscard]] std::string build_id();

}  // namespace chimera
