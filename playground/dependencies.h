// What each event of a simulated trace needs before it can start.
#pragma once

#include <vector>

#include "chimera/schedule/schedule.h"
#include "chimera/trace/trace.h"

namespace chimera::playground {

// [event]: indices in trace.events of the events that it needs, in order: the
// message or compute that brings its input, its stage's forward, the input half
// of a weight half, the sums and the vote of an update. An event that only
// precedes it on the same worker is not among them. Events that `trace` lacks
// are left out. REQUIRES: `trace` simulates `lowered`.
[[nodiscard]] std::vector<std::vector<int>> direct_needs(
    const Schedule& lowered, const Trace& trace);

}  // namespace chimera::playground
