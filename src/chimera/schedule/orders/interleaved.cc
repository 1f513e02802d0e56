// Interleaved 1F1B (Narayanan et al., 2021): every worker holds v chunks, and
// micro-batches pass in groups of D through chunk after chunk.
#include <algorithm>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

// A worker's k-th forward uses chunk (k/D) mod v; backwards take the chunks in
// the opposite order. Micro-batches count up within each stage.
ActionList worker_order(const Layout& layout, int r) {
  const int D = layout.depth;
  const int v = layout.chunks;
  const int total = v * layout.micros;
  std::vector<int> next_forward(v, 0);
  std::vector<int> next_backward(v, 0);
  ActionList list;
  const auto forward = [&](int k) {
    const int chunk = k / D % v;
    const int micro = next_forward[chunk]++;
    list.push_back(compute(Op::kF, 0, chunk * D + r, micro));
  };
  const auto backward = [&](int k) {
    const int chunk = v - 1 - k / D % v;
    const int micro = next_backward[chunk]++;
    list.push_back(compute(Op::kB, 0, chunk * D + r, micro));
  };
  const int warmup = std::min(total, (v - 1) * D + 2 * (D - 1 - r));
  for (int k = 0; k < warmup; ++k) forward(k);
  for (int k = 0; k < total; ++k) {
    if (warmup + k < total) forward(warmup + k);
    backward(k);
  }
  return list;
}

ActionLists order(const Layout& layout, const Placement&) {
  ActionLists lists;
  for (int r = 0; r < layout.depth; ++r) {
    lists.push_back(worker_order(layout, r));
  }
  return lists;
}

Diagnostics refuse(const Layout& layout) {
  if (layout.micros % layout.depth == 0) return {};
  return {needs_micros_multiple(layout, layout.depth,
                                "depth = " + std::to_string(layout.depth))};
}

}  // namespace

Scheme interleaved() {
  return {
      .name = "interleaved",
      .summary = "1F1B over v chunks a worker (Megatron's virtual pipeline)",
      .legal = "any D, N a multiple of D, v >= 2 chunks",
      .makespan = "(N + (D-1)/v)(F+B)",
      .peak = "min(N, (2(D-1)+(v-1)D+1)/v) on worker 0",
      .weights = "1",
      .chunks = 2,
      .shape = Shape::kLoop,
      .any_chunks = true,
      .refuse = refuse,
      .place = one_way,
      .order = order};
}

}  // namespace chimera
