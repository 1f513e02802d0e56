// Writes a Trace as Chrome trace JSON, for chrome://tracing and
// ui.perfetto.dev.
#pragma once

#include <ostream>

#include "chimera/trace/trace.h"

namespace chimera {

// Writes one process per worker with a track for compute, a track per link
// direction (messages to a peer), one for sums and one for the vote; arrows
// lead from each message to the compute that consumes it. `us_per_unit` is the
// trace's time unit in microseconds.
//
// The array is streamed and every line is a complete record, so a file whose
// writer was killed still opens.
void write_chrome_trace(const Trace& trace, double us_per_unit,
                        std::ostream& out);

}  // namespace chimera
