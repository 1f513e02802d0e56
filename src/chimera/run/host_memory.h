// Memory of this host.
#pragma once

namespace chimera {

// Bytes in all, and what could be allocated now without swapping; 0 if not
// known.
[[nodiscard]] double total_memory();
[[nodiscard]] double free_memory();

}  // namespace chimera
