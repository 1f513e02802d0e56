// Merges what each rank recorded into one trace.
#pragma once

#include <vector>

#include "chimera/trace/trace.h"

namespace chimera {

// One trace of all ranks, ordered by time. Worker w of copy c becomes worker c
// * workers + w of the trace, and so do peers.
//
// Causes are determined here. A compute waited for the rank's previous compute
// or for an input (message, sums, vote, a late vote), whichever ended last; a
// message left after the compute that produced it, a sum started after its last
// gradient. Gaps are completed: a message of which only the arrival was
// recorded left when the compute that produced it ended; a sum began when its
// last member started it.
//
// REQUIRES: `lowered` is the schedule that ran; `by_rank` holds one list per
// rank.
[[nodiscard]] Trace merge_ranks(const Schedule& lowered,
                                const std::vector<std::vector<Event>>& by_rank,
                                int steps);

}  // namespace chimera
