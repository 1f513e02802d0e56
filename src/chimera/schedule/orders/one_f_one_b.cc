// 1F1B (PipeDream-flush, DAPPLE): worker w runs D-w forwards ahead, then
// alternates, and so never holds more than D-w activations.
#include <algorithm>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

ActionLists order(const Layout& layout, const Placement&) {
  const int D = layout.depth;
  const int N = layout.micros;
  ActionLists lists(D);
  for (int w = 0; w < D; ++w) {
    const int warmup = std::min(N, D - w);
    int forward = 0;
    for (; forward < warmup; ++forward) {
      lists[w].push_back(compute(Op::kF, 0, w, forward));
    }
    for (int backward = 0; backward < N; ++backward) {
      lists[w].push_back(compute(Op::kB, 0, w, backward));
      if (forward < N) lists[w].push_back(compute(Op::kF, 0, w, forward++));
    }
  }
  return lists;
}

}  // namespace

Scheme one_f_one_b() {
  return {.name = "1f1b",
          .alias = "dapple",
          .summary = "one forward, one backward after a warm-up of D-w",
          .legal = "any D, any N",
          .makespan = "(N+D-1)(F+B)",
          .peak = "min(N, D-w) on worker w",
          .weights = "1",
          .place = one_way,
          .order = order};
}

}  // namespace chimera
