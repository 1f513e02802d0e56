// Whether a run fits into the memory of its host.
#pragma once

#include <string>

#include "chimera/train/setup.h"

namespace chimera {

// Bytes that all ranks of the run need together, as the memory model predicts
// them; 0 for an emulated model or layers of one's own.
[[nodiscard]] double predicted_bytes(const RunSetup& setup);

// "warning: ..." if that is more than `free_bytes` (0 = not known); else empty.
[[nodiscard]] std::string memory_warning(const RunSetup& setup,
                                         double free_bytes);

}  // namespace chimera
