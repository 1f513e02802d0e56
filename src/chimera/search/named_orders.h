// The orders of named schemes, as starting points for the search.
#pragma once

#include <vector>

#include "chimera/schedule/schedule.h"

namespace chimera::ordering {

// The order of every synchronous named scheme that has the placement of
// `schedule`, for its micro-batches and with split backwards. Micro-batches are
// renumbered so that each stage takes them in turn, as planned orders do; that
// changes no time.
[[nodiscard]] std::vector<Schedule> named_orders(const Schedule& schedule);

}  // namespace chimera::ordering
