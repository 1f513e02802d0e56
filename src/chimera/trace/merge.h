// From what each rank saw to one trace.
#pragma once

#include <vector>

#include "chimera/trace/trace.h"

namespace chimera {

// One trace of all ranks, in order of time. Worker w of copy c, and so a peer,
// is c * workers + w there. Causes are found here: a compute waited for the
// rank's previous compute or for what it takes (message, sums, vote), whichever
// ended last; a message left after the compute that made it, a sum after its
// last gradient. What a rank could not know is completed: a message that is
// only an arrival left when the compute that made it ended; a sum began when
// its last member had started it.
// REQUIRES: `lowered` is what ran; `by_rank` holds a list for each rank.
[[nodiscard]] Trace merge_ranks(const Schedule& lowered,
                                const std::vector<std::vector<Event>>& by_rank,
                                int steps);

}  // namespace chimera
