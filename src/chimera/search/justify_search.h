// A search by justification (justify.h): short runs from many starts, then
// longer ones from the best of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "chimera/search/justify.h"

namespace chimera::ordering {

struct JustifyOptions {
  std::int64_t passes = 0;  // the budget
  // Passes of one turn; a budget of several turns begins anew after each.
  std::int64_t turn = 0;
  // The search ends once no worker exceeds its window by more than this.
  Ticks enough = 0;
  // Called with the share of passes made; may be empty.
  std::function<void(double share)> on_share = {};
};

// Returns the best orders found, best first; at most eight. `seeds` are orders
// to start from; `wishes` are only times at which actions might start.
// REQUIRES: as Justifier; options.passes, options.turn > 0; every seed plays to
// its end and stays within the cap.
[[nodiscard]] std::vector<Played> search_by_justification(
    const Problem& problem, const Goal& goal,
    const std::vector<CodeLists>& seeds, const std::vector<Timetable>& wishes,
    const JustifyOptions& options);

// Stretches `times` of the problem `small` to `large`, which has more
// micro-batches on the same placement: the first half, the last half, and
// between them micro-batches at the pace of the busiest worker.
[[nodiscard]] Timetable stretched(const Problem& small, const Timetable& times,
                                  const Problem& large);

}  // namespace chimera::ordering
