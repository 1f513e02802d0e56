// ZB-V (Qi et al., 2024): two chunks a worker in a V, split backward. Worker r
// holds stage a = r on the way down and stage b = 2D-1-r on the way back.
#include <algorithm>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

// Counts the actions of each chunk and drops micro-batches beyond N: the order
// is built for at least 2D-1 micro-batches and then cut.
class VeeList {
 public:
  VeeList(int a, int b, int micros) : stage_{a, b}, micros_(micros) {}

  void forward(int chunk) { add(Op::kF, chunk, forwards_[chunk]++); }
  void input(int chunk) { add(Op::kI, chunk, inputs_[chunk]++); }
  void weight(int chunk) { add(Op::kW, chunk, weights_[chunk]++); }
  void flush_weights(int chunk) {
    while (weights_[chunk] < inputs_[chunk]) weight(chunk);
  }
  [[nodiscard]] int forwards(int chunk) const { return forwards_[chunk]; }
  [[nodiscard]] ActionList take() { return std::move(list_); }

 private:
  void add(Op op, int chunk, int micro) {
    if (micro >= micros_) return;
    list_.push_back(compute(op, 0, stage_[chunk], micro));
  }

  int stage_[2];
  int micros_;
  int forwards_[2] = {0, 0};
  int inputs_[2] = {0, 0};
  int weights_[2] = {0, 0};
  ActionList list_;
};

ActionList worker_order(int D, int N, int r) {
  constexpr int kA = 0;
  constexpr int kB = 1;
  VeeList list(r, 2 * D - 1 - r, N);
  const int n = std::max(N, 2 * D - 1);
  const auto whole_backward = [&](int chunk) {
    list.input(chunk);
    list.weight(chunk);
  };
  for (int i = 0; i < 2 * (D - r) - 1; ++i) list.forward(kA);
  for (int i = 0; i < r; ++i) {
    list.forward(kB);
    list.forward(kA);
  }
  for (int i = 0; i < D - r; ++i) {
    list.forward(kB);
    whole_backward(kB);
  }
  while (list.forwards(kB) < list.forwards(kA) || list.forwards(kA) < n) {
    if (list.forwards(kA) < n) list.forward(kA);
    whole_backward(kA);
    list.forward(kB);
    whole_backward(kB);
  }
  for (int i = 0; i < r; ++i) {
    list.input(kA);
    list.input(kB);
  }
  for (int i = 0; i < D - r; ++i) whole_backward(kA);
  list.flush_weights(kB);
  list.flush_weights(kA);
  return list.take();
}

ActionLists order(const Layout& layout, const Placement&) {
  ActionLists lists;
  for (int r = 0; r < layout.depth; ++r) {
    lists.push_back(worker_order(layout.depth, layout.micros, r));
  }
  return lists;
}

}  // namespace

Scheme zb_v() {
  return {.name = "zb-v",
          .summary = "two chunks in a V, split backward, 1F1B's memory",
          .legal = "any D, any N, 2 chunks",
          .makespan = "3N+(D-1)/2 for N >= 2D-1, F=I=W=1",
          .peak = "D",
          .weights = "1",
          .chunks = 2,
          .shape = Shape::kVee,
          .place = one_way,
          .order = order};
}

}  // namespace chimera
