// Identifies the machine, to tell whether two processes share a clock.
#pragma once

#include <cstdint>

namespace chimera {

// An id shared by all processes under one running kernel, whatever their host
// names, containers or network namespaces: they share its steady clock. 0 if
// unknown.
[[nodiscard]] std::uint64_t machine_id();

}  // namespace chimera
