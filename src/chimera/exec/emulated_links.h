// The links of emulated runs.
#pragma once

#include "chimera/comm/link_clock.h"
#include "chimera/schedule/costs.h"

namespace chimera {

// Links between `ranks` ranks that take, in seconds, what a simulation with
// `costs` takes; null if that is nothing. Which link a message takes is told by
// its two ranks alone, whereas a simulation sees one copy for all.
[[nodiscard]] LinkTimesPtr make_emulated_links(const Costs& costs, int ranks);

}  // namespace chimera
