// What a run tells about costs, so that plan and run can stand side by side.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/trace/trace.h"

namespace chimera {

// One step of a trace, of the first `workers` workers, from time 0 on.
[[nodiscard]] Trace one_step(const Trace& trace, int step, int workers);

// Both in one, for a picture: the workers of `second` follow those of `first`.
[[nodiscard]] Trace side_by_side(const Trace& first, const Trace& second);

// The median time of every kind of compute on every stage, in the trace's
// unit; of messages and of sums one median for all. A whole backward counts as
// two equal halves.
[[nodiscard]] Costs measured_costs(const Schedule& schedule,
                                   const Trace& trace);

}  // namespace chimera
