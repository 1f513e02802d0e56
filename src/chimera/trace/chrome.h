// Chrome trace JSON, as chrome://tracing and ui.perfetto.dev read it.
#pragma once

#include <ostream>

#include "chimera/trace/trace.h"

namespace chimera {

// One process per worker with a track for compute, a track per link direction
// (messages to a peer), one for sums and one for the vote; arrows lead from
// each message to the compute that takes it. `us_per_unit` turns the
// trace's time unit into microseconds.
//
// The array is streamed and every line is whole, so a file whose writer was
// killed still opens.
void write_chrome_trace(const Trace& trace, double us_per_unit,
                        std::ostream& out);

}  // namespace chimera
