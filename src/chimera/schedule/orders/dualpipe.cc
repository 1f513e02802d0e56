// DualPipe and DualPipeV (DeepSeek-AI, 2024/25): eight steps that pair the
// forward of one direction with the backward of the other. In a pair the
// forward runs first, then the backward.
#include <deque>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

// The progress of one worker in one phase (phase 0 is its near direction).
struct Phase {
  int pipe;
  int stage;
  int first_micro;
  int forwards = 0;
  int backwards = 0;
};

class DualList {
 public:
  DualList(const Phase& near, const Phase& far) : phases_{near, far} {}

  void forward(int phase) {
    Phase& p = phases_[phase];
    list_.push_back(
        compute(Op::kF, p.pipe, p.stage, p.first_micro + p.forwards++));
  }
  // Adds a whole backward, or its input half with the weight half deferred.
  void backward(int phase, bool split) {
    Phase& p = phases_[phase];
    const int micro = p.first_micro + p.backwards++;
    list_.push_back(compute(split ? Op::kI : Op::kB, p.pipe, p.stage, micro));
    if (split) pending_.push_back(compute(Op::kW, p.pipe, p.stage, micro));
  }
  void oldest_weight() {
    list_.push_back(pending_.front());
    pending_.pop_front();
  }
  [[nodiscard]] ActionList take() { return std::move(list_); }

 private:
  Phase phases_[2];
  // Deferred W of both phases, first in, first out.
  std::deque<Action> pending_;
  ActionList list_;
};

// h: distance from the near end; R: workers to the middle; n: micro-batches of
// each phase.
struct Position {
  int h;
  int R;
  int n;
};

ActionList eight_steps(const Position& at, const Phase& near,
                       const Phase& far) {
  const int h = at.h;
  const int rest = at.R - h - 1;
  DualList list(near, far);
  for (int i = 0; i < 2 * rest; ++i) list.forward(0);  // step 1
  for (int i = 0; i < h + 1; ++i) {                    // step 2
    list.forward(0);
    list.forward(1);
  }
  for (int i = 0; i < rest; ++i) {  // step 3
    list.backward(1, true);
    list.oldest_weight();
    list.forward(1);
  }
  for (int i = 0; i < at.n - 2 * at.R + h + 1; ++i) {  // step 4
    list.forward(0);
    list.backward(1, false);
    list.forward(1);
    list.backward(0, false);
  }
  for (int i = 0; i < rest; ++i) {  // step 5
    list.backward(1, false);
    list.forward(1);
    list.backward(0, false);
  }
  bool split = false;
  for (int i = 0; i < h + 1; ++i) {  // step 6: splitting begins half-way
    const bool half_way = i == (h + 1) / 2;
    split = split || (half_way && h % 2 == 1);
    list.backward(1, split);
    split = split || half_way;
    list.backward(0, split);
  }
  for (int i = 0; i < rest; ++i) {  // step 7
    list.oldest_weight();
    list.backward(0, true);
  }
  for (int i = 0; i < h + 1; ++i) list.oldest_weight();  // step 8
  return list.take();
}

ActionLists order_two_pipes(const Layout& layout, const Placement&) {
  const int D = layout.depth;
  const int n = layout.micros / 2;
  ActionLists lists;
  for (int r = 0; r < D; ++r) {
    const Phase down{.pipe = 0, .stage = r, .first_micro = 0};
    const Phase up{.pipe = 1, .stage = D - 1 - r, .first_micro = n};
    const bool upper = r < D / 2;
    lists.push_back(
        eight_steps({.h = upper ? r : D - 1 - r, .R = D / 2, .n = n},
                    upper ? down : up, upper ? up : down));
  }
  return lists;
}

ActionLists order_vee(const Layout& layout, const Placement&) {
  const int D = layout.depth;
  ActionLists lists;
  for (int r = 0; r < D; ++r) {
    lists.push_back(
        eight_steps({.h = r, .R = D, .n = layout.micros},
                    {.pipe = 0, .stage = r, .first_micro = 0},
                    {.pipe = 0, .stage = 2 * D - 1 - r, .first_micro = 0}));
  }
  return lists;
}

Diagnostics refuse_vee(const Layout& layout) {
  if (layout.micros >= 2 * layout.depth) return {};
  return {needs_micros_at_least(layout, 2 * layout.depth, "2*depth")};
}

Diagnostics refuse_two_pipes(const Layout& layout) {
  Diagnostics errors = refuse_vee(layout);
  if (layout.depth % 2 != 0) errors.push_back(needs_depth_multiple(layout, 2));
  if (layout.micros % 2 != 0) {
    errors.push_back(needs_micros_multiple(layout, 2, "2"));
  }
  return errors;
}

}  // namespace

Scheme dualpipe() {
  return {.name = "dualpipe",
          .summary = "two opposite pipes, forwards paired with backwards",
          .legal = "D even, N even, N >= 2D",
          .makespan = "3N+D/2-1, F=I=W=1",
          .peak = "D+1",
          .weights = "2",
          .pipes = 2,
          .refuse = refuse_two_pipes,
          .place = opposite,
          .order = order_two_pipes};
}

Scheme dualpipe_v() {
  return {.name = "dualpipe-v",
          .summary = "DualPipe folded into a V: one weight copy",
          .legal = "any D, N >= 2D, 2 chunks",
          .makespan = "3N+(D-1)/2, F=I=W=1",
          .peak = "D+1/2",
          .weights = "1",
          .chunks = 2,
          .shape = Shape::kVee,
          .refuse = refuse_vee,
          .place = one_way,
          .order = order_vee};
}

}  // namespace chimera
