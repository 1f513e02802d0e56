// ZB-H1 and ZB-H2 (Qi et al., 2023): 1F1B with the backward split, so that
// weight gradients fill time that would be idle.
#include <algorithm>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

// A worker's order: `warmup` forwards, then F and I alternate. Once more than
// `deferred` I's are done, each I is followed by the oldest weight gradient,
// which leaves `deferred` of them for the end.
struct Rank {
  int stage;
  int warmup;
  int deferred;
  bool forward_first;  // an F-I pair starts with F
};

ActionList worker_order(const Rank& rank, int N) {
  ActionList list;
  int forward = 0;
  int weight = 0;
  const auto run_forward = [&] {
    if (forward >= N) return;
    list.push_back(compute(Op::kF, 0, rank.stage, forward++));
  };
  while (forward < std::min(rank.warmup, N)) run_forward();
  for (int micro = 0; micro < N; ++micro) {
    if (rank.forward_first) run_forward();
    list.push_back(compute(Op::kI, 0, rank.stage, micro));
    if (micro >= rank.deferred) {
      list.push_back(compute(Op::kW, 0, rank.stage, weight++));
    }
    if (!rank.forward_first) run_forward();
  }
  while (weight < N) {
    list.push_back(compute(Op::kW, 0, rank.stage, weight++));
  }
  return list;
}

ActionLists order_h1(const Layout& layout, const Placement&) {
  const int D = layout.depth;
  ActionLists lists;
  for (int r = 0; r < D; ++r) {
    lists.push_back(worker_order(
        {.stage = r, .warmup = D - 1 - r, .deferred = r, .forward_first = true},
        layout.micros));
  }
  return lists;
}

ActionLists order_h2(const Layout& layout, const Placement&) {
  const int D = layout.depth;
  ActionLists lists;
  for (int r = 0; r < D; ++r) {
    lists.push_back(worker_order({.stage = r,
                                  .warmup = 2 * (D - r) - 1,
                                  .deferred = 2 * r,
                                  .forward_first = false},
                                 layout.micros));
  }
  return lists;
}

Diagnostics refuse_h2(const Layout& layout) {
  const int least = 2 * layout.depth - 1;
  if (layout.micros >= least) return {};
  return {needs_micros_at_least(layout, least, "2*depth-1")};
}

}  // namespace

Scheme zb_h1() {
  return {.name = "zb-h1",
          .summary = "1F1B with split backward at 1F1B's memory (zero bubble)",
          .legal = "any D, any N",
          .makespan = "3N+D-1 for N >= D, F=I=W=1",
          .peak = "D on every worker for N >= D",
          .weights = "1",
          .place = one_way,
          .order = order_h1};
}

Scheme zb_h2() {
  return {.name = "zb-h2",
          .summary = "split backward, twice the warm-up: no idle inside a span",
          .legal = "any D, N >= 2D-1",
          .makespan = "3N+D-1 (span 3N), F=I=W=1",
          .peak = "2D-1",
          .weights = "1",
          .refuse = refuse_h2,
          .place = one_way,
          .order = order_h2};
}

}  // namespace chimera
