#include "chimera/simulate/bound.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "chimera/simulate/link_bound.h"
#include "chimera/simulate/release_bound.h"

namespace chimera {
namespace {

std::vector<bool> used_pipes(const Schedule& schedule) {
  std::vector<bool> used(schedule.pipes(), false);
  for (const ActionList& list : schedule.actions) {
    for (const Action& action : list) {
      if (action.op == Op::kF) used[action.pipe] = true;
    }
  }
  return used;
}

// The time of one micro-batch down and up the pipe, then the first stage's
// weight gradient.
double one_micro(const Schedule& schedule, const Costs& costs, int pipe) {
  double time = costs.stages[0].weight_grad / schedule.parts;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    time += costs.stages[stage].forward +
            costs.stages[stage].input_grad / schedule.parts;
    if (stage + 1 < schedule.stages()) {
      time += 2 * hop_time(schedule, costs, pipe, stage);
    }
  }
  return time;
}

// [worker]: the least time after its last weight gradient. It is the sum and
// update of that stage, minimised over the worker's stages because any may be
// last.
std::vector<double> shortest_tails(const Schedule& schedule,
                                   const Costs& costs) {
  std::vector<double> sums(schedule.stages(), 0);
  for (const SumGroup& group : schedule.groups) {
    const double time = sum_time(costs, schedule, group);
    for (const Member& member : group.members) {
      sums[member.stage] = std::max(sums[member.stage], time);
    }
  }
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> tails(schedule.workers(), kNever);
  for (int pipe = 0; pipe < schedule.pipes(); ++pipe) {
    for (int stage = 0; stage < schedule.stages(); ++stage) {
      double& tail = tails[schedule.placement.worker(pipe, stage)];
      tail = std::min(tail, sums[stage] + costs.stages[stage].update);
    }
  }
  return tails;
}

// The part of the bound that holds only for one step of a synchronous scheme.
double one_step_bound(const Schedule& schedule, const Costs& costs,
                      const BoundOptions& options) {
  const std::vector<double> compute =
      release_bounds(schedule, costs, options.cap);
  const std::vector<double> tails = shortest_tails(schedule, costs);
  double bound = options.links ? link_bound(schedule, costs) : 0;
  for (int worker = 0; worker < schedule.workers(); ++worker) {
    if (compute[worker] == 0) continue;
    bound = std::max(bound, compute[worker] + tails[worker]);
  }
  return bound;
}

}  // namespace

double lower_bound(const Schedule& schedule, const Costs& costs,
                   const BoundOptions& options) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> earliest(schedule.workers(), kNever);
  const std::vector<bool> used = used_pipes(schedule);
  double bound = 0;
  for (int pipe = 0; pipe < schedule.pipes(); ++pipe) {
    if (!used[pipe]) continue;
    double arrival = 0;
    for (int stage = 0; stage < schedule.stages(); ++stage) {
      double& first = earliest[schedule.placement.worker(pipe, stage)];
      first = std::min(first, arrival);
      arrival += costs.stages[stage].forward;
      if (stage + 1 < schedule.stages()) {
        arrival += hop_time(schedule, costs, pipe, stage);
      }
    }
    bound = std::max(bound, one_micro(schedule, costs, pipe));
  }
  double all_work = 0;
  for (int worker = 0; worker < schedule.workers(); ++worker) {
    double work = 0;
    for (const Action& action : schedule.actions[worker]) {
      work += compute_time(costs, action, schedule.parts);
    }
    all_work += work;
    if (earliest[worker] == kNever) continue;
    bound = std::max(bound, earliest[worker] + options.steps * work);
  }
  if (options.steps == 1 && schedule.parts == 1 && !is_asynchronous(schedule)) {
    bound = std::max(bound, one_step_bound(schedule, costs, options));
  }
  if (options.cores > 0) {
    bound = std::max(bound,
                     options.steps * all_work * schedule.width / options.cores);
  }
  return bound;
}

}  // namespace chimera
