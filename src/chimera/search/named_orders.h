// The orders of named schemes, as places to start from.
#pragma once

#include <vector>

#include "chimera/schedule/schedule.h"

namespace chimera::ordering {

// What every synchronous named scheme does on the placement and micro-batches
// of `schedule`, with split backwards; schemes that place otherwise are left
// out. Micro-batches are dealt and numbered as in planned orders, each stage
// taking them in turn: that changes no time.
[[nodiscard]] std::vector<Schedule> named_orders(const Schedule& schedule);

}  // namespace chimera::ordering
