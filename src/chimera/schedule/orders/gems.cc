// GEMS (Jain et al., 2020): two opposite pipes take turns, with one micro-batch
// at a time in the whole machine. Little memory, large bubbles.
#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

ActionLists order(const Layout& layout, const Placement&) {
  const int D = layout.depth;
  ActionLists lists(D);
  for (int worker = 0; worker < D; ++worker) {
    for (int micro = 0; micro < layout.micros; ++micro) {
      const int pipe = micro % 2;
      const int stage = pipe == 0 ? worker : D - 1 - worker;
      lists[worker].push_back(compute(Op::kF, pipe, stage, micro));
      lists[worker].push_back(compute(Op::kB, pipe, stage, micro));
    }
  }
  return lists;
}

Diagnostics refuse(const Layout& layout) {
  if (layout.depth >= 2) return {};
  return {{.code = "E202",
           .found = "depth = " + std::to_string(layout.depth),
           .needed = "must be at least 2",
           .hint = "use 2 or more"}};
}

}  // namespace

Scheme gems() {
  return {.name = "gems",
          .summary = "two opposite pipes take turns, one micro-batch in flight",
          .legal = "D >= 2, any N",
          .makespan = "D*F + N*D*B + (N-1)*F for B >= F",
          .peak = "1",
          .weights = "2",
          .pipes = 2,
          .refuse = refuse,
          .place = opposite,
          .order = order};
}

}  // namespace chimera
