// BitPipe (Wu et al., 2024): two opposite pipes, each in a V of two chunks.
// Every worker runs its forwards in one fixed order and its backwards in
// another, both repeated for every D micro-batches. The two are merged by
// playing the step in slots, with F and B of one slot each: a worker takes the
// next backward if it is ready, else the next forward if that is ready and the
// worker holds no more than its warm-up.
#include <algorithm>
#include <optional>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

// One chunk of one pipe on a worker.
struct Chunk {
  int pipe = 0;
  int stage = 0;
};

// A worker is near the start of one pipe (n) and far from that of the other
// (f). With u = D/2 and its distance a = 1 .. u from the middle:
//   forwards   a Fn1, (u-a)(Ff1 Fn1), a (Ff1 Ff2), (u-a)(Fn2 Ff2), a Fn2
//   backwards  a Bn2, (u-a)(Bf2 Bn2), a (Bf2 Bf1), (u-a)(Bn1 Bf1), a Bn1
struct WorkerOrder {
  std::vector<Chunk> forwards;  // of one unit of D micro-batches
  std::vector<Chunk> backwards;
  int warm_up = 0;

  WorkerOrder(int D, int r) {
    const int u = D / 2;
    const int a = r < u ? u - r : r - u + 1;
    const int near = r < u ? 0 : 1;
    const auto chunk = [&](int pipe, bool second) {
      const int first = pipe == 0 ? r : D - 1 - r;
      return Chunk{pipe, second ? 2 * D - 1 - first : first};
    };
    const Chunk n1 = chunk(near, false);
    const Chunk n2 = chunk(near, true);
    const Chunk f1 = chunk(1 - near, false);
    const Chunk f2 = chunk(1 - near, true);
    forwards = in_sections(a, u - a, {n1, f1, f2, n2});
    backwards = in_sections(a, u - a, {n2, f2, f1, n1});
    warm_up = D + u + std::min(r, D - 1 - r);
  }

 private:
  // `c`: the chunks in the order in which a micro-batch meets them.
  static std::vector<Chunk> in_sections(int a, int b,
                                        const std::vector<Chunk>& c) {
    std::vector<Chunk> order;
    const auto add = [&](int times, const std::vector<Chunk>& section) {
      for (int i = 0; i < times; ++i) {
        order.insert(order.end(), section.begin(), section.end());
      }
    };
    add(a, {c[0]});
    add(b, {c[1], c[0]});
    add(a, {c[1], c[2]});
    add(b, {c[3], c[2]});
    add(a, {c[3]});
    return order;
  }
};

class SlotPlay {
 public:
  SlotPlay(int D, int N) : D_(D), N_(N), lists_(D) {
    for (int r = 0; r < D; ++r) workers_.push_back({WorkerOrder(D, r)});
    for (Counts& done : done_) done.assign(2, std::vector<int>(2 * D, 0));
  }

  ActionLists run() {
    const auto all_done = [this](const Worker& worker) {
      return worker.backwards == 2 * N_;
    };
    while (!std::all_of(workers_.begin(), workers_.end(), all_done)) {
      play_slot();
    }
    return std::move(lists_);
  }

 private:
  using Counts = std::vector<std::vector<int>>;  // [pipe][stage]

  struct Worker {
    WorkerOrder order;
    int forwards = 0;
    int backwards = 0;
  };

  // All workers choose by the state before the slot.
  void play_slot() {
    std::vector<Action> started;
    for (int r = 0; r < D_; ++r) {
      const std::optional<Action> action = next(workers_[r]);
      if (!action) continue;
      lists_[r].push_back(*action);
      started.push_back(*action);
    }
    for (const Action& action : started) ++done(action.op, chunk_of(action));
  }

  std::optional<Action> next(Worker& worker) {
    const WorkerOrder& order = worker.order;
    const int unit = 2 * D_;
    if (worker.backwards < 2 * N_) {
      const Chunk& chunk = order.backwards[worker.backwards % unit];
      if (is_ready(Op::kB, chunk)) {
        ++worker.backwards;
        return action_of(Op::kB, chunk);
      }
    }
    const int held = worker.forwards - worker.backwards;
    if (worker.forwards < 2 * N_ && held <= order.warm_up) {
      const Chunk& chunk = order.forwards[worker.forwards % unit];
      if (is_ready(Op::kF, chunk)) {
        ++worker.forwards;
        return action_of(Op::kF, chunk);
      }
    }
    return std::nullopt;
  }

  // True if the input of the chunk's next micro-batch is available.
  bool is_ready(Op op, const Chunk& chunk) {
    const auto has_passed = [&](Op source, int stage) {
      return done(source, {chunk.pipe, stage}) > done(op, chunk);
    };
    if (op == Op::kF) {
      return chunk.stage == 0 || has_passed(Op::kF, chunk.stage - 1);
    }
    const bool is_last = chunk.stage == 2 * D_ - 1;
    return has_passed(Op::kF, chunk.stage) &&
           (is_last || has_passed(Op::kB, chunk.stage + 1));
  }

  // Micro-batch m goes through pipe m mod 2.
  Action action_of(Op op, const Chunk& chunk) {
    return compute(op, chunk.pipe, chunk.stage,
                   2 * done(op, chunk) + chunk.pipe);
  }
  static Chunk chunk_of(const Action& action) {
    return {action.pipe, action.stage};
  }
  int& done(Op op, const Chunk& chunk) {
    return done_[op == Op::kB ? 1 : 0][chunk.pipe][chunk.stage];
  }

  int D_;
  int N_;
  ActionLists lists_;
  std::vector<Worker> workers_;
  Counts done_[2];  // forwards, backwards
};

ActionLists order(const Layout& layout, const Placement&) {
  return SlotPlay(layout.depth, layout.micros).run();
}

Diagnostics refuse(const Layout& layout) {
  Diagnostics errors;
  if (layout.depth % 2 != 0) errors.push_back(needs_depth_multiple(layout, 2));
  if (layout.micros % layout.depth != 0) {
    errors.push_back(needs_micros_multiple(
        layout, layout.depth, "depth = " + std::to_string(layout.depth)));
  }
  return errors;
}

}  // namespace

Scheme bitpipe() {
  return {.name = "bitpipe",
          .summary = "two opposite pipes, each in a V of two chunks",
          .legal = "D even, N a multiple of D, 2 pipes, 2 chunks",
          .makespan = "3N + D-2 + (N/D-1)(D/2-1), F=1, B=2",
          .peak = "D",
          .weights = "2",
          .pipes = 2,
          .chunks = 2,
          .shape = Shape::kVee,
          .refuse = refuse,
          .place = opposite,
          .order = order};
}

}  // namespace chimera
