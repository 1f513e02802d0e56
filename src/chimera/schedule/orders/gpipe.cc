// GPipe (Huang et al., 2019): fill with all forwards, drain with all backwards.
#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

ActionLists order(const Layout& layout, const Placement&) {
  ActionLists lists(layout.depth);
  for (int worker = 0; worker < layout.depth; ++worker) {
    for (const Op op : {Op::kF, Op::kB}) {
      for (int micro = 0; micro < layout.micros; ++micro) {
        lists[worker].push_back(compute(op, 0, worker, micro));
      }
    }
  }
  return lists;
}

}  // namespace

Scheme gpipe() {
  return {.name = "gpipe",
          .summary = "all forwards, then all backwards",
          .legal = "any D, any N",
          .makespan = "(N+D-1)(F+B)",
          .peak = "N",
          .weights = "1",
          .place = one_way,
          .order = order};
}

}  // namespace chimera
