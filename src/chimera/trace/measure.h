// Measures costs and how much they vary from the trace of a run, to compare the
// run with its plan and to plan again.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/trace/trace.h"

namespace chimera {

// The events of one step on the first `workers` workers, shifted to start at
// time 0.
[[nodiscard]] Trace one_step(const Trace& trace, int step, int workers);

// Both traces in one, for a picture: the workers of `second` follow those of
// `first`.
[[nodiscard]] Trace side_by_side(const Trace& first, const Trace& second);

// `trace` with each compute as long as it would take on a processor of its own,
// if its workers share `cores` of them equally; starts stay as they are.
[[nodiscard]] Trace unshared(const Trace& trace, int cores);

// The median time of each kind of compute on each stage, in the trace's unit;
// messages share one median, and so do sums. A whole backward counts as two
// equal halves.
[[nodiscard]] Costs measured_costs(const Schedule& schedule,
                                   const Trace& trace);

// How much computes of one kind on one stage vary: their standard deviation as
// a fraction of their time, by the quartiles, so that a few outliers do not
// count. Kinds count by the time that they take; those with fewer than four
// events do not.
[[nodiscard]] double measured_jitter(const Trace& trace);

}  // namespace chimera
