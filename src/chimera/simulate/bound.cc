#include "chimera/simulate/bound.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace chimera {
namespace {

// Latency and transfer of the tensor between two neighbouring stages.
double hop(const Schedule& schedule, const Costs& costs, int pipe, int lower) {
  const Placement& placement = schedule.placement;
  if (placement.worker(pipe, lower) == placement.worker(pipe, lower + 1)) {
    return 0;
  }
  return costs.latency +
         costs.time_per_byte * costs.stages[lower].boundary_bytes;
}

std::vector<bool> used_pipes(const Schedule& schedule) {
  std::vector<bool> used(schedule.pipes(), false);
  for (const ActionList& list : schedule.actions) {
    for (const Action& action : list) {
      if (action.op == Op::kF) used[action.pipe] = true;
    }
  }
  return used;
}

// All the way down and back, then the first stage's weight gradient.
double one_micro(const Schedule& schedule, const Costs& costs, int pipe) {
  double time = costs.stages[0].weight_grad / schedule.parts;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    time += costs.stages[stage].forward +
            costs.stages[stage].input_grad / schedule.parts;
    if (stage + 1 < schedule.stages()) {
      time += 2 * hop(schedule, costs, pipe, stage);
    }
  }
  return time;
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
        arrival += hop(schedule, costs, pipe, stage);
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
  if (options.cores > 0) {
    bound = std::max(bound,
                     options.steps * all_work * schedule.width / options.cores);
  }
  return bound;
}

}  // namespace chimera
