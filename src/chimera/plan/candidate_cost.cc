#include "chimera/plan/candidate_cost.h"

#include <algorithm>
#include <limits>

#include "chimera/plan/paper_model.h"
#include "chimera/schedule/asap.h"
#include "chimera/schedule/sum_plan.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

// Number of simulations of a step with jitter. Small, because hundreds of
// candidates are judged.
constexpr int kPlays = 8;

constexpr Sync kSyncs[] = {Sync::kEagerOpt, Sync::kEager, Sync::kEnd};

// Enough steps for the work in flight to fill up, repeat and drain.
int steps_of(const Schedule& schedule) {
  if (!is_asynchronous(schedule)) return 1;
  const int in_flight = (schedule.depth - 1) / schedule.micros + 1;
  return in_flight + 3 + in_flight;
}

double simulated(const Candidate& candidate, const Schedule& schedule,
                 const Costs& costs, Sync sync, const CostOptions& options) {
  // Lowered with unit costs, as a run lowers the schedule of its run.toml: the
  // order that is judged is the order that runs.
  const Schedule lowered =
      lower(schedule, {.sync = sync,
                       .recompute = candidate.recompute,
                       .tied = options.tied,
                       .vote_gates_update = options.vote_gates_update &&
                                            !is_asynchronous(schedule),
                       .late_vote = options.late_vote});
  if (options.jitter > 0 && !is_asynchronous(schedule)) {
    return expected_makespan(lowered, costs, {.jitter = options.jitter},
                             kPlays);
  }
  return simulate(lowered, costs, {.steps = steps_of(schedule)}).period;
}

Costs with_free_sums(Costs costs) {
  costs.sum_time = 0;
  return costs;
}

Costs with_free_messages(Costs costs) {
  costs.latency = 0;
  costs.time_per_byte = 0;
  costs.time_per_message = 0;
  costs.node.reset();
  return costs;
}

// Average compute time of a worker by purpose, without updates.
PlanTimes work_of(const Candidate& candidate, const Schedule& schedule,
                  const Costs& costs) {
  PlanTimes times;
  for (const ActionList& list : schedule.actions) {
    for (const Action& action : list) {
      if (action.op == Op::kU) continue;
      times.compute += compute_time(costs, action, schedule.parts);
      if (candidate.recompute && action.op == Op::kF) {
        times.recompute += costs.stages[action.stage].recompute_time();
      }
    }
  }
  times.compute /= schedule.workers();
  times.recompute /= schedule.workers();
  return times;
}

// Average time of a worker's updates.
double updates_of(const Schedule& schedule, const Costs& costs) {
  double sum = 0;
  if (is_asynchronous(schedule)) {
    for (const ActionList& list : schedule.actions) {
      for (const Action& action : list) {
        if (action.op == Op::kU) sum += costs.stages[action.stage].update;
      }
    }
  } else {
    for (const StageCosts& stage : costs.stages) {
      sum += stage.update * schedule.pipes();
    }
  }
  return sum / schedule.workers();
}

PlanTimes paper_times(const Candidate& candidate, const Schedule& schedule,
                      const Costs& costs, const CandidateCost& cost) {
  const PaperTime paper =
      paper_time(candidate.spec, costs,
                 {.recompute = bool{candidate.recompute}, .sync = cost.sync});
  // The paper's formula ignores updates, so they are left out of the compute
  // time here as well.
  PlanTimes times = work_of(candidate, schedule, costs);
  times.bubble = paper.compute - times.compute - times.recompute;
  times.message = paper.message;
  times.sum = paper.sum;
  return times;
}

}  // namespace

CostOptions cost_options(const PlanRequest& request,
                         const Candidate& candidate) {
  const int stages = candidate.spec.depth * *candidate.spec.chunks;
  return {.model = request.cost_model,
          .tied = request.model.tie_embeddings && stages > 1,
          .vote_gates_update = request.vote_gates_update || request.recovers,
          .late_vote = request.late_vote,
          .jitter = request.profile.jitter};
}

bool undoes_updates(const PlanRequest& request) {
  return request.late_vote && (request.vote_gates_update || request.recovers);
}

double step_time(const Candidate& candidate, const Schedule& schedule,
                 const Costs& costs, Sync sync, const CostOptions& options) {
  if (options.model == CostModel::kSimulate) {
    return simulated(candidate, schedule, costs, sync, options);
  }
  return paper_time(candidate.spec, costs,
                    {.recompute = bool{candidate.recompute}, .sync = sync})
      .total();
}

CandidateCost candidate_cost(const Candidate& candidate,
                             const Schedule& schedule, const Costs& costs,
                             const CostOptions& options) {
  CandidateCost best{.step_s = step_time(candidate, schedule, costs,
                                         Sync::kEagerOpt, options)};
  const bool sums =
      !sum_groups(schedule.placement, schedule.width, options.tied).empty();
  if (!sums || is_asynchronous(schedule)) return best;
  for (const Sync sync : kSyncs) {
    if (sync == Sync::kEagerOpt) continue;
    const double time = step_time(candidate, schedule, costs, sync, options);
    // Times that differ only in the last digits count as equal.
    if (time < best.step_s * (1 - 1e-9)) best = {time, sync};
  }
  return best;
}

PlanTimes times_of(const Candidate& candidate, const Schedule& schedule,
                   const Costs& costs, const CandidateCost& cost,
                   const CostOptions& options) {
  if (options.model == CostModel::kPaper) {
    return paper_times(candidate, schedule, costs, cost);
  }
  // Simulates with one cause after another taken away; the time gained is the
  // share of that cause.
  const Costs no_sums = with_free_sums(costs);
  const double without_sums =
      simulated(candidate, schedule, no_sums, cost.sync, options);
  const double alone = simulated(
      candidate, schedule, with_free_messages(no_sums), cost.sync, options);
  PlanTimes times = work_of(candidate, schedule, costs);
  times.compute += updates_of(schedule, costs);
  times.bubble = alone - times.compute - times.recompute;
  times.message = without_sums - alone;
  times.sum = cost.step_s - without_sums;
  return times;
}

double least_paper_time(const Candidate& candidate, const Costs& costs) {
  double least = std::numeric_limits<double>::infinity();
  for (const Sync sync : kSyncs) {
    const PaperTime time =
        paper_time(candidate.spec, costs,
                   {.recompute = bool{candidate.recompute}, .sync = sync});
    least = std::min(least, time.total());
  }
  return least;
}

double order_bound(const Candidate& candidate, const Schedule& schedule,
                   const Costs& costs) {
  if (is_asynchronous(schedule)) return 0;
  // Recomputation is left out of the order, because it need not wait for the
  // gradient as the backward does. Its work is counted below.
  const AsapTimes times = asap(schedule, costs);
  double bound = 0;
  for (int worker = 0; worker < schedule.workers(); ++worker) {
    double work = 0;
    for (const Action& action : schedule.actions[worker]) {
      work += compute_time(costs, action, schedule.parts);
      if (candidate.recompute && action.op == Op::kF) {
        work += costs.stages[action.stage].recompute_time();
      }
    }
    bound = std::max(bound, work);
    if (!times.end[worker].empty()) {
      bound = std::max(bound, times.end[worker].back());
    }
  }
  return bound;
}

}  // namespace chimera
