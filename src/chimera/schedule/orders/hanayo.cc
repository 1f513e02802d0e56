// Hanayo (Liu et al., SC'23): one pipe that runs over the workers in waves. The
// order is found by playing the step in slots, with F and B of one slot each: a
// free worker takes a ready backward (lowest micro-batch), else the ready
// forward of the deepest stage. A new micro-batch enters only while fewer than
// D are in flight; a cap on the activations of a worker would deadlock from 4
// chunks on. Playing with B = 2F instead admits new micro-batches too late: for
// N > D the step would take longer than units of D one after another. The
// paper's bubble ratio (2D-2)/(3Dw+D-1) for w waves holds for another order.
#include <queue>
#include <set>
#include <tuple>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

class WavePlay {
 public:
  WavePlay(const Layout& layout, const Placement& placement)
      : D_(layout.depth),
        N_(layout.micros),
        worker_of_(placement.worker_of[0]),
        workers_(D_),
        lists_(D_) {}

  [[nodiscard]] ActionLists run() {
    start_ready(0);
    while (!running_.empty()) {
      const int now = std::get<0>(running_.top());
      while (!running_.empty() && std::get<0>(running_.top()) == now) {
        const int worker = std::get<1>(running_.top());
        running_.pop();
        workers_[worker].busy = false;
        finish(lists_[worker].back());
      }
      start_ready(now);
    }
    return std::move(lists_);
  }

 private:
  struct Worker {
    bool busy = false;
    std::set<std::tuple<int, int>> backwards;  // (micro, -stage)
    std::set<std::tuple<int, int>> forwards;   // (-stage, micro)
  };

  void finish(const Action& done) {
    const int last = static_cast<int>(worker_of_.size()) - 1;
    if (done.op == Op::kF && done.stage < last) {
      const int next = done.stage + 1;
      workers_[worker_of_[next]].forwards.emplace(-next, done.micro);
    } else if (done.op == Op::kF) {
      workers_[worker_of_[last]].backwards.emplace(done.micro, -last);
    } else if (done.stage > 0) {
      const int next = done.stage - 1;
      workers_[worker_of_[next]].backwards.emplace(done.micro, -next);
    } else {
      --in_flight_;
    }
  }

  void start_ready(int now) {
    for (int worker = 0; worker < D_; ++worker) {
      if (!workers_[worker].busy) start_one(worker, now);
    }
  }

  void start_one(int worker, int now) {
    Worker& w = workers_[worker];
    if (!w.backwards.empty()) {
      const auto [micro, stage] = *w.backwards.begin();
      w.backwards.erase(w.backwards.begin());
      start(worker, compute(Op::kB, 0, -stage, micro), now + 1);
    } else if (!w.forwards.empty()) {
      const auto [stage, micro] = *w.forwards.begin();
      w.forwards.erase(w.forwards.begin());
      start(worker, compute(Op::kF, 0, -stage, micro), now + 1);
    } else if (worker == worker_of_[0] && entered_ < N_ && in_flight_ < D_) {
      ++in_flight_;
      start(worker, compute(Op::kF, 0, 0, entered_++), now + 1);
    }
  }

  void start(int worker, const Action& action, int end) {
    lists_[worker].push_back(action);
    workers_[worker].busy = true;
    running_.emplace(end, worker);
  }

  using Running = std::tuple<int, int>;  // (end, worker)

  int D_;
  int N_;
  std::vector<int> worker_of_;
  std::vector<Worker> workers_;
  ActionLists lists_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  int entered_ = 0;
  int in_flight_ = 0;
};

ActionLists order(const Layout& layout, const Placement& placement) {
  return WavePlay(layout, placement).run();
}

Diagnostics refuse(const Layout& layout) {
  if (layout.chunks % 2 == 0) return {};
  return {{.code = "E205",
           .found = "chunks = " + std::to_string(layout.chunks),
           .needed = "must be even (two for each wave)",
           .hint = "use " + std::to_string(layout.chunks + 1)}};
}

}  // namespace

Scheme hanayo() {
  return {.name = "hanayo",
          .summary = "one pipe in waves over the workers",
          .legal = "any D, any N, an even number of chunks",
          .makespan =
              "F=1, B=2, N=kD: 4N + D-1 - k with 2 chunks, "
              "(7N+D-1-k)/2 with 4",
          .peak = "D",
          .weights = "1",
          .chunks = 2,
          .shape = Shape::kWave,
          .any_chunks = true,
          .refuse = refuse,
          .place = one_way,
          .order = order};
}

}  // namespace chimera
