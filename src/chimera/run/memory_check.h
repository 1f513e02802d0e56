// Predicts whether a run fits into the memory of its host.
#pragma once

#include <string>

#include "chimera/train/setup.h"

namespace chimera {

// Bytes that all ranks of the run need together, by the memory model; 0 for an
// emulated model or user-defined layers.
[[nodiscard]] double predicted_bytes(const RunSetup& setup);

// "warning: ..." if that exceeds `free_bytes` (0 = unknown); else empty.
[[nodiscard]] std::string memory_warning(const RunSetup& setup,
                                         double free_bytes);

}  // namespace chimera
