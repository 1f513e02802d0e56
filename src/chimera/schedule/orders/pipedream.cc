// PipeDream (Narayanan et al., 2019) and PipeDream-2BW (2021): 1F1B that never
// drains. A backward on worker w lags D-1-w micro-batches behind the worker's
// newest forward, so it may belong to an earlier step: Action::step tells
// which.
#include <limits>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

enum class UpdateAfter { kEveryMicro, kEveryStep };

ActionLists order(const Layout& layout, UpdateAfter update_after) {
  const int D = layout.depth;
  const int N = layout.micros;
  ActionLists lists(D);
  for (int w = 0; w < D; ++w) {
    const int lag = D - 1 - w;
    // Enough to keep the micro-batch number >= 0.
    const int lag_steps = (lag + N - 1) / N;
    for (int slot = 0; slot < N; ++slot) {
      lists[w].push_back(compute(Op::kF, 0, w, slot));
      const int shifted = slot - lag + lag_steps * N;
      Action backward = compute(Op::kB, 0, w, shifted % N);
      backward.step = static_cast<std::int16_t>(shifted / N - lag_steps);
      lists[w].push_back(backward);
      Action update = backward;
      update.op = Op::kU;
      if (update_after == UpdateAfter::kEveryMicro) {
        lists[w].push_back(update);
      } else if (backward.micro == N - 1) {
        update.micro = kNone;
        lists[w].push_back(update);
      }
    }
  }
  return lists;
}

ActionLists order_every_micro(const Layout& layout, const Placement&) {
  return order(layout, UpdateAfter::kEveryMicro);
}

ActionLists order_every_step(const Layout& layout, const Placement&) {
  return order(layout, UpdateAfter::kEveryStep);
}

// Refuses layouts in which a backward lags more steps than Action::step can
// hold.
Diagnostics refuse_lag(const Layout& layout) {
  constexpr int kMostSteps = std::numeric_limits<std::int16_t>::max();
  if ((layout.depth - 1) / layout.micros < kMostSteps) return {};
  return {needs_micros_at_least(layout, layout.depth / kMostSteps + 1,
                                "depth/32767 + 1")};
}

Diagnostics refuse_2bw(const Layout& layout) {
  if (layout.micros >= layout.depth) return {};
  return {needs_micros_at_least(layout, layout.depth, "depth")};
}

}  // namespace

Scheme pipedream() {
  return {
      .name = "pipedream",
      .summary = "1F1B without flush, update after every micro-batch (stale)",
      .legal = "any D, any N",
      .makespan = "steady period N(F+B)",
      .peak = "D-w on worker w",
      .weights = "up to D-w versions",
      .updates = UpdateRule::kEveryMicro,
      .refuse = refuse_lag,
      .place = one_way,
      .order = order_every_micro};
}

Scheme pipedream_2bw() {
  return {
      .name = "pipedream-2bw",
      .summary = "1F1B without flush, update every step, one version behind",
      .legal = "any D, N >= D",
      .makespan = "steady period N(F+B)",
      .peak = "D-w on worker w",
      .weights = "2 versions",
      .updates = UpdateRule::kOneBehind,
      .refuse = refuse_2bw,
      .place = one_way,
      .order = order_every_step};
}

}  // namespace chimera
