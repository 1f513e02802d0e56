// The links of emulated runs.
#pragma once

#include "chimera/comm/link_clock.h"
#include "chimera/schedule/costs.h"

namespace chimera {

// Links between `ranks` ranks whose times, in seconds, are those of a
// simulation with `costs`; null if all of them are 0. A message's link depends
// on its two ranks alone, whereas a simulation has one copy stand for all.
[[nodiscard]] LinkTimesPtr make_emulated_links(const Costs& costs, int ranks);

}  // namespace chimera
