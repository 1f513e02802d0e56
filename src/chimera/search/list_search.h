// Local search on complete lists: a move shifts one action within its worker's
// list, and the lists are replayed. Moves are taken from the critical path.
// Late acceptance (Burke & Bykov, 2017) lets the search cross plateaus.
#pragma once

#include <cstdint>

#include "chimera/search/replay.h"

namespace chimera::ordering {

struct ListSearchOptions {
  std::int64_t moves = 0;
  std::uint64_t seed = 0;
  // The search ends at this span, because no shorter one is possible.
  Ticks bound = 0;
};

// Improves `lists` and returns the span of the result. REQUIRES: the lists hold
// every action and stay within the cap.
Ticks search_lists(const Problem& problem, const Goal& goal,
                   const ListSearchOptions& options, CodeLists& lists);

}  // namespace chimera::ordering
