// Memory of this host.
#pragma once

namespace chimera {

// All bytes of this host, and those that can be allocated now without swapping;
// 0 if unknown.
[[nodiscard]] double total_memory();
[[nodiscard]] double free_memory();

}  // namespace chimera
