// Local search on finished lists: one action is moved within its worker's list,
// everything is played again. Moves start from the critical path; late
// acceptance (Burke & Bykov, 2017) lets the search cross plateaus.
#pragma once

#include <cstdint>

#include "chimera/search/replay.h"

namespace chimera::ordering {

struct ListSearchOptions {
  std::int64_t moves = 0;
  std::uint64_t seed = 0;
  // Ends the search: no better span exists.
  Ticks bound = 0;
};

// Improves `lists` as far as it gets and gives their span.
// REQUIRES: the lists hold every action and keep the cap.
Ticks search_lists(const Problem& problem, const Goal& goal,
                   const ListSearchOptions& options, CodeLists& lists);

}  // namespace chimera::ordering
