// A lower bound from links: each directed link carries one message at a time.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// No link can start before its first message can exist. It then carries all its
// messages one after the other, and after the last of them at least one chain
// of actions follows. The largest such sum over all links; 0 if no message
// occupies a link. Holds for one step of any order of a synchronous schedule
// that does not halve backwards.
[[nodiscard]] double link_bound(const Schedule& schedule, const Costs& costs);

}  // namespace chimera
