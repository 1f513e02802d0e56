#include "chimera/simulate/release_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chimera {
namespace {

struct Release {
  double at = 0;
  double work = 0;
  bool is_forward = false;
};

// The earliest times of the actions of one worker.
struct WorkerReleases {
  std::vector<Release> actions;
  std::vector<double> input_grad_ends;
  std::vector<double> weight_grad_ends;
  double omega = 1;  // the least of its stages
};

class Releases {
 public:
  Releases(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule), costs_(costs), workers_(schedule.workers()) {
    std::vector<int> micros(schedule.pipes(), 0);
    recomputed_.assign(schedule.pipes(), std::vector(schedule.stages(), 0));
    for (const ActionList& list : schedule.actions) {
      for (const Action& action : list) {
        recomputes_ |= action.op == Op::kR;
        if (action.op == Op::kR) ++recomputed_[action.pipe][action.stage];
        if (action.op == Op::kF && action.stage == 0) ++micros[action.pipe];
      }
    }
    for (int pipe = 0; pipe < schedule.pipes(); ++pipe) {
      if (micros[pipe] > 0) follow(pipe, micros[pipe]);
    }
  }

  // True if any micro-batch is recomputed at any stage.
  [[nodiscard]] bool recomputes() const { return recomputes_; }
  [[nodiscard]] std::vector<WorkerReleases>& workers() { return workers_; }

 private:
  void follow(int pipe, int micros) {
    const int last = schedule_.stages() - 1;
    double at = 0;
    double turn = 0;
    for (int stage = 0; stage <= last; ++stage) {
      const double forward = costs_.stages[stage].forward;
      // The k-th micro-batch reaches this stage no sooner than k turns of the
      // slowest stage that it has passed.
      turn = std::max(turn, forward);
      add(pipe, stage, micros, {at, forward, true}, turn);
      // A recomputation needs no input but its forward's, so it may run at
      // once. A stage that recomputes only some micro-batches counts none.
      if (recomputed_[pipe][stage] == micros) {
        const double again = costs_.stages[stage].recompute_time();
        add(pipe, stage, micros, {at + forward, again, false}, turn);
      }
      at += forward;
      if (stage < last) at += hop_time(schedule_, costs_, pipe, stage);
    }
    const double recompute = recomputed_[pipe][last] == micros
                                 ? costs_.stages[last].recompute_time()
                                 : 0;
    at += recompute;
    turn = std::max(turn, costs_.stages[last].forward + recompute +
                              costs_.stages[last].input_grad);
    for (int stage = last; stage >= 0; --stage) {
      const StageCosts& costs = costs_.stages[stage];
      turn = std::max(turn, costs.input_grad);
      add(pipe, stage, micros, {at, costs.input_grad, false}, turn);
      at += costs.input_grad;
      add(pipe, stage, micros, {at, costs.weight_grad, false}, turn);
      WorkerReleases& worker = this->at(pipe, stage);
      worker.omega = std::min(worker.omega, costs.omega);
      add_ends(worker.input_grad_ends, micros, at, turn);
      add_ends(worker.weight_grad_ends, micros, at + costs.weight_grad, turn);
      if (stage > 0) at += hop_time(schedule_, costs_, pipe, stage - 1);
    }
  }

  [[nodiscard]] WorkerReleases& at(int pipe, int stage) {
    return workers_[schedule_.placement.worker(pipe, stage)];
  }

  void add(int pipe, int stage, int micros, const Release& first, double turn) {
    std::vector<Release>& actions = at(pipe, stage).actions;
    for (int number = 0; number < micros; ++number) {
      actions.push_back(first);
      actions.back().at += number * turn;
    }
  }

  static void add_ends(std::vector<double>& ends, int micros, double first,
                       double turn) {
    for (int number = 0; number < micros; ++number) {
      ends.push_back(first + number * turn);
    }
  }

  const Schedule& schedule_;
  const Costs& costs_;
  std::vector<WorkerReleases> workers_;
  // [pipe][stage]: number of micro-batches.
  std::vector<std::vector<int>> recomputed_;
  bool recomputes_ = false;
};

// [n]: the time of the n longest forwards together.
std::vector<double> dearest_forwards(const std::vector<Release>& actions) {
  std::vector<double> times;
  for (const Release& release : actions) {
    if (release.is_forward) times.push_back(release.work);
  }
  std::sort(times.rbegin(), times.rend());
  std::vector<double> sums{0};
  for (const double time : times) sums.push_back(sums.back() + time);
  return sums;
}

// The number of actions that can have ended by a time.
class Ended {
 public:
  explicit Ended(std::vector<double>& ends) : ends_(ends) {
    std::sort(ends.begin(), ends.end());
  }
  // REQUIRES: `time` is no earlier than in the last call.
  double by(double time) {
    while (count_ < ends_.size() && ends_[count_] <= time) ++count_;
    return static_cast<double>(count_);
  }

 private:
  const std::vector<double>& ends_;
  std::size_t count_ = 0;
};

// `room`: the activations of chunks that a worker may hold.
double bound_of(WorkerReleases& worker, double room) {
  std::vector<Release>& actions = worker.actions;
  if (actions.empty()) return 0;
  std::sort(actions.begin(), actions.end(),
            [](const Release& a, const Release& b) { return a.at < b.at; });
  Ended inputs(worker.input_grad_ends);
  Ended weights(worker.weight_grad_ends);
  const std::vector<double> dearest = dearest_forwards(actions);
  double work = 0;
  for (const Release& release : actions) work += release.work;
  const double head = actions.front().at;
  double bound = head + work;
  double forwards = 0;
  double others = 0;
  for (const Release& release : actions) {
    const double r = release.at;
    // An I gives 1 - omega of its activation back, and its W the rest.
    const double most =
        room + (1 - worker.omega) * inputs.by(r) + worker.omega * weights.by(r);
    const auto begun = static_cast<std::size_t>(
        std::min(double(dearest.size() - 1), std::floor(most + 1e-6)));
    const double done =
        std::min(r - head, others + std::min(forwards, dearest[begun]));
    bound = std::max(bound, r + work - done);
    (release.is_forward ? forwards : others) += release.work;
  }
  return bound;
}

}  // namespace

double hop_time(const Schedule& schedule, const Costs& costs, int pipe,
                int lower) {
  const Placement& placement = schedule.placement;
  if (placement.worker(pipe, lower) == placement.worker(pipe, lower + 1)) {
    return 0;
  }
  return message_time(costs,
                      {.from = placement.worker(pipe, lower),
                       .to = placement.worker(pipe, lower + 1),
                       .workers = placement.workers,
                       .width = schedule.width},
                      costs.stages[lower].boundary_bytes)
      .total();
}

std::vector<double> release_bounds(const Schedule& schedule, const Costs& costs,
                                   std::optional<double> cap) {
  Releases releases(schedule, costs);
  // With recomputation, forwards hold nothing that the cap counts.
  double room = std::numeric_limits<double>::infinity();
  if (cap && !releases.recomputes()) room = *cap * schedule.chunks();
  std::vector<double> bounds;
  for (WorkerReleases& worker : releases.workers()) {
    bounds.push_back(bound_of(worker, room));
  }
  return bounds;
}

}  // namespace chimera
