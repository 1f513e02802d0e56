// List scheduling by rules with random parameters: what the fixed rules lack
// when messages take time or costs differ. Half of the draws stay near the best
// so far.
#pragma once

#include "chimera/search/pool.h"

namespace chimera::ordering {

struct DrawOptions {
  int draws = 0;
  Aim aim = Aim::kStep;
  Ticks bound = 0;  // ends the draws, if no worker is late either
};

void draw_orders(const Problem& problem, const DrawOptions& options,
                 Pool& pool);

}  // namespace chimera::ordering
