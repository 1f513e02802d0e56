#include "chimera/simulate/period_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chimera/simulate/release_bound.h"

namespace chimera {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The chain of one micro-batch through a pipe, as prefix sums from stage 0 on.
struct Chain {
  std::vector<double> forward;     // [s]: F and messages of the stages below s
  std::vector<double> input;       // [s]: I and messages of the stages below s
  std::vector<double> input_grad;  // [s]: I
  double all_forwards = 0;
  double all_inputs = 0;

  Chain(const Schedule& schedule, const Costs& costs, int pipe) {
    const int last = schedule.stages() - 1;
    for (int stage = 0; stage <= last; ++stage) {
      forward.push_back(all_forwards);
      input.push_back(all_inputs);
      input_grad.push_back(costs.stages[stage].input_grad);
      const double hop =
          stage < last ? hop_time(schedule, costs, pipe, stage) : 0;
      all_forwards += costs.stages[stage].forward + hop;
      all_inputs += costs.stages[stage].input_grad + hop;
    }
  }
  // Time from the start of F(0) to the start of I(stage).
  [[nodiscard]] double to_input(int stage) const {
    return all_forwards + all_inputs - input[stage] - input_grad[stage];
  }
};

// The durations of a worker's actions of one kind in a step, longest first.
class Durations {
 public:
  void add(double time) { times_.push_back(time); }
  void sort() {
    std::sort(times_.begin(), times_.end(), std::greater<>());
    sums_ = {0};
    for (const double time : times_) sums_.push_back(sums_.back() + time);
  }
  // The sum of the `count` longest. REQUIRES: sort() was called.
  [[nodiscard]] double sum(size_t count) const {
    return sums_[std::min(count, times_.size())];
  }
  [[nodiscard]] size_t size() const { return times_.size(); }

 private:
  std::vector<double> times_;
  std::vector<double> sums_;  // [n]: of the n longest
};

// The work of one worker in a step.
struct WorkerWork {
  double all = 0;  // updates included
  double updates = 0;
  bool recomputes = false;
  double recomputed = 0;  // time; 0 if forwards take none
  Durations forwards;
  Durations weights;    // W
  Durations backwards;  // I + W
  double omega = 1;     // the least of its stages
  // [pipe]: its shallowest and deepest stage; kNone: the worker has none.
  std::vector<int> low;
  std::vector<int> high;
};

class PeriodBound {
 public:
  PeriodBound(const Schedule& schedule, const Costs& costs,
              const BoundOptions& options)
      : schedule_(schedule), costs_(costs), options_(options) {
    for (int pipe = 0; pipe < schedule.pipes(); ++pipe) {
      chains_.emplace_back(schedule, costs, pipe);
    }
    find_tails();
  }

  [[nodiscard]] double find() const {
    const bool is_plain = schedule_.parts == 1 && !is_asynchronous(schedule_);
    double bound = 0;
    double all_work = 0;
    for (int worker = 0; worker < schedule_.workers(); ++worker) {
      const WorkerWork work = work_of(worker);
      const bool has_work = work.forwards.size() > 0;
      const double idle = is_plain && has_work ? least_idle(work) : 0;
      bound = std::max(bound, work.all + idle);
      all_work += work.all;
    }
    if (options_.cores > 0) {
      bound = std::max(bound, all_work * schedule_.width / options_.cores);
    }
    return bound;
  }

 private:
  // [stage]: W of the last micro-batch, then the stage's sum and its update.
  void find_tails() {
    std::vector<double> sums(schedule_.stages(), 0);
    for (const SumGroup& group : schedule_.groups) {
      const double time = sum_time(costs_, schedule_, group);
      for (const Member& member : group.members) {
        sums[member.stage] = std::max(sums[member.stage], time);
      }
    }
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      const StageCosts& costs = costs_.stages[stage];
      tails_.push_back(costs.weight_grad + sums[stage] + costs.update);
    }
  }

  [[nodiscard]] WorkerWork work_of(int worker) const {
    WorkerWork work;
    work.low.assign(schedule_.pipes(), kNone);
    work.high.assign(schedule_.pipes(), kNone);
    for (const Action& action : schedule_.actions[worker]) {
      const double time = compute_time(costs_, action, schedule_.parts);
      work.all += time;
      if (action.op == Op::kU) work.updates += time;
      if (action.op == Op::kR) {
        work.recomputes = true;
        work.recomputed += time;
      }
      if (action.op != Op::kF) continue;
      const StageCosts& costs = costs_.stages[action.stage];
      work.forwards.add(costs.forward);
      work.weights.add(costs.weight_grad);
      work.backwards.add(costs.input_grad + costs.weight_grad);
      work.omega = std::min(work.omega, costs.omega);
      int& low = work.low[action.pipe];
      int& high = work.high[action.pipe];
      low = low == kNone ? action.stage : std::min(low, action.stage);
      high = std::max(high, action.stage);
    }
    work.forwards.sort();
    work.weights.sort();
    work.backwards.sort();
    return work;
  }

  // How many activations of chunks a worker may hold at once, besides `others`
  // that are held whole, if each takes `share` of the room of a whole one.
  [[nodiscard]] size_t room(const WorkerWork& work, double share = 1,
                            size_t others = 0) const {
    const size_t all = work.forwards.size() - others;
    if (!options_.cap) return all;
    const double held =
        *options_.cap * schedule_.chunks() - double(others) + 1e-6;
    if (held >= share * double(all)) return all;
    return static_cast<size_t>(std::max(0.0, std::floor(held / share)));
  }

  // The most work that a worker can have left after its last forward. Some
  // activations are then held whole, that of this forward among them: each
  // leaves I and W. Others, in the rest of the room, are held after their I:
  // each leaves W.
  [[nodiscard]] double most_after_forward(const WorkerWork& work) const {
    const size_t R = room(work);
    if (work.omega == 1) return work.backwards.sum(R);
    double most = 0;
    for (size_t whole = std::min<size_t>(1, R); whole <= R; ++whole) {
      most =
          std::max(most, work.backwards.sum(whole) +
                             work.weights.sum(room(work, work.omega, whole)));
    }
    return most;
  }

  // The least idle time of a worker per period: the largest of four bounds,
  // named by the letters of docs/planned-orders.md.
  [[nodiscard]] double least_idle(const WorkerWork& work) const {
    const size_t R = room(work);
    // Recomputation frees the memory of forwards, so all of them may run ahead.
    const double ahead =
        work.recomputes
            ? work.forwards.sum(work.forwards.size()) + work.recomputed
            : work.forwards.sum(R);
    // While the last input gradient runs, its activation is held whole.
    const double after_input =
        work.weights.sum(room(work, work.omega, 1) + 1) + work.updates;
    const double fill = above_zero(to_first_input(work) - ahead);
    const double drain =
        above_zero(after_last_input(work, To::kForward) - after_input);
    const double both =
        after_last_input(work, To::kInput) - after_input - ahead;
    double idle = std::max(fill + drain, both);
    // With recomputation any number of backwards may follow the last forward.
    if (work.recomputes) return idle;
    const double after_forward = most_after_forward(work) + work.updates;
    const double turn =
        above_zero(after_last_forward(work, To::kForward) - after_forward);
    idle = std::max(idle, turn);
    // With room for all micro-batches the last forward may come before the
    // first input gradient, and the intervals below would overlap.
    if (R == work.forwards.size()) return idle;
    const double turn_and_fill =
        after_last_forward(work, To::kInput) - after_forward - ahead;
    return std::max({idle, fill + turn, turn_and_fill});
  }

  static double above_zero(double time) { return std::max(0.0, time); }

  // The least visit(pipe) over the pipes in which the worker has a stage: any
  // of them may be the first or the last.
  template <typename Visit>
  [[nodiscard]] double least(const WorkerWork& work, const Visit& visit) const {
    double shortest = kNever;
    for (int pipe = 0; pipe < schedule_.pipes(); ++pipe) {
      if (work.low[pipe] == kNone) continue;
      shortest = std::min(shortest, visit(pipe));
    }
    return shortest;
  }

  // Time from the start of the worker's first forward to its first input
  // gradient.
  [[nodiscard]] double to_first_input(const WorkerWork& work) const {
    return least(work, [&](int pipe) {
      const Chain& chain = chains_[pipe];
      return chain.to_input(work.high[pipe]) - chain.forward[work.low[pipe]];
    });
  }

  // The action of the worker's next step up to which a time is counted.
  enum class To { kForward, kInput };

  // Time after the worker's last input gradient until the next step's action.
  [[nodiscard]] double after_last_input(const WorkerWork& work, To to) const {
    return least(work, [&](int pipe) {
      const int low = work.low[pipe];
      return to_next_step(work, to, pipe, low, chains_[pipe].input[low]);
    });
  }

  // Time after the worker's last forward until the next step's action.
  [[nodiscard]] double after_last_forward(const WorkerWork& work, To to) const {
    return least(work, [&](int pipe) {
      const int high = work.high[pipe];
      const Chain& chain = chains_[pipe];
      const double down = chain.all_forwards - chain.forward[high] -
                          costs_.stages[high].forward;
      return down + to_next_step(work, to, pipe, schedule_.stages() - 1,
                                 chain.all_inputs);
    });
  }

  // Time until the next step reaches the worker. The last micro-batch of `pipe`
  // still needs its input gradients from stage `top` down to some stage s
  // (`to_come` is their time down to stage 0), its W at s, and the sum and
  // update of s; then the next step runs from s to the worker.
  [[nodiscard]] double to_next_step(const WorkerWork& work, To to, int pipe,
                                    int top, double to_come) const {
    return least(work, [&](int next) {
      const Chain& chain = chains_[next];
      const int low = work.low[next];
      const bool to_input = to == To::kInput;
      const double arrival =
          to_input ? chain.to_input(work.high[next]) : chain.forward[low];
      const int deepest = to_input ? top : std::min(low, top);
      double longest = 0;
      for (int s = 0; s <= deepest; ++s) {
        const double inputs = to_come - chains_[pipe].input[s];
        longest =
            std::max(longest, inputs + tails_[s] + arrival - chain.forward[s]);
      }
      return longest;
    });
  }

  const Schedule& schedule_;
  const Costs& costs_;
  const BoundOptions& options_;
  std::vector<Chain> chains_;  // [pipe]
  std::vector<double> tails_;  // [stage]
};

}  // namespace

double period_bound(const Schedule& schedule, const Costs& costs,
                    const BoundOptions& options) {
  return PeriodBound(schedule, costs, options).find();
}

}  // namespace chimera
