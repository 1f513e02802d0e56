// List scheduling by rules with random parameters. The fixed rules suffice for
// free messages and F = I = W; these draws find orders for other costs. Half of
// them vary one of the best rules found so far.
#pragma once

#include <functional>

#include "chimera/search/pool.h"

namespace chimera::ordering {

struct DrawOptions {
  int draws = 0;
  Aim aim = Aim::kStep;
  Ticks bound = 0;  // stops once the pool is perfect at this bound
  // Called with the share of draws made; may be empty.
  std::function<void(double share)> on_share = {};
};

void draw_orders(const Problem& problem, const DrawOptions& options,
                 Pool& pool);

}  // namespace chimera::ordering
