// Identifies the compilation.
#pragma once

#include <string>

namespace chimera {

// The linker's build id of the library that contains this code, in hex; it
// changes with sources, compiler and flags. "unknown" if there is none.
[[nodiscard]] std::string build_id();

}  // namespace chimera
