// Which machine this is, as far as processes and clocks are concerned.
#pragma once

#include <cstdint>

namespace chimera {

// The same for all processes under one running kernel, whatever their host
// names, containers or network namespaces: its steady clock is theirs. 0 if it
// cannot be told.
[[nodiscard]] std::uint64_t machine_id();

}  // namespace chimera
