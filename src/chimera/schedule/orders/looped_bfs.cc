// Looped breadth-first (Lamy-Poirier, 2023): every worker holds v chunks and
// runs all forwards chunk by chunk, then all backwards chunk by chunk in the
// opposite order: GPipe over v chunks, the same order as PyTorch's.
#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

// This order cannot deadlock: the forwards of a chunk need only those of the
// chunk before, in the same order, and backwards mirror them.
ActionLists order(const Layout& layout, const Placement&) {
  const int D = layout.depth;
  const int v = layout.chunks;
  ActionLists lists(D);
  for (int r = 0; r < D; ++r) {
    for (int chunk = 0; chunk < v; ++chunk) {
      for (int m = 0; m < layout.micros; ++m) {
        lists[r].push_back(compute(Op::kF, 0, chunk * D + r, m));
      }
    }
    for (int chunk = v - 1; chunk >= 0; --chunk) {
      for (int m = layout.micros - 1; m >= 0; --m) {
        lists[r].push_back(compute(Op::kB, 0, chunk * D + r, m));
      }
    }
  }
  return lists;
}

}  // namespace

Scheme looped_bfs() {
  return {.name = "looped-bfs",
          .summary = "all forwards, then all backwards, chunk by chunk",
          .legal = "any D, any N, v >= 2 chunks",
          .makespan = "(N + (D-1)/v)(F+B) for N >= D",
          .peak = "N",
          .weights = "1",
          .chunks = 2,
          .shape = Shape::kLoop,
          .any_chunks = true,
          .place = one_way,
          .order = order};
}

}  // namespace chimera
