// Makes the schedule that a run.toml asks for, lowered and proven. Torch-free.
#pragma once

#include <optional>
#include <string>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct RunScheduleOptions {
  // True if the model's first and last stage share a weight. Empty: only
  // model.init tells, and it was not read; a lowered file is then trusted.
  std::optional<bool> tied = false;
  // The costs for which an order is planned. Null: the times of emulated
  // stages, otherwise F = I = W.
  const Costs* costs = nullptr;
  double jitter = 0;  // variation of times, as in SearchOptions
  // The order from which planning starts; the result is never slower. May be
  // null.
  const Schedule* running = nullptr;  // lowered
};

// Makes the schedule from schedule.scheme, or reads it from schedule.file
// unless that is for later (make_replanned_schedule). Error codes besides those
// of the schedule itself:
//   E209 too many workers
//   E560 a file with another depth, micros, width or scheme than run.toml
//   E561 what an asynchronous scheme cannot do
//   E562 backward halving of an odd micro-batch (from a file)
//   E563 emulated times for another number of stages
//   E570 a lowered file without what run.toml asks of it
//   E574 schedule.replan_after without a planned order
// REQUIRES: check_for_training() found no errors.
[[nodiscard]] Result<Schedule> make_run_schedule(
    const RunConfig& config, const RunScheduleOptions& options);

// The order to change to after schedule.replan_after steps: planned with
// options.costs, or read from schedule.file, which repeats an earlier run's
// choice. It may differ from the running order only in the order of each
// worker's actions, not in placement, work, groups, or the side of the updates
// on which the vote stands (E574). REQUIRES: options.running is set.
[[nodiscard]] Result<Schedule> make_replanned_schedule(
    const RunConfig& config, const RunScheduleOptions& options);

// Why the other workers could not save the run if one is lost; empty if they
// can. They can if every stage has at least two holders, each with the whole
// state to save, and all workers update at once.
[[nodiscard]] std::string why_no_recovery(const RunConfig& config,
                                          const Schedule& schedule);

// The times of emulated stages as costs for the simulator, in seconds.
// REQUIRES: an emulated model that make_run_schedule accepted.
[[nodiscard]] Costs emulated_costs(const RunConfig& config,
                                   const Schedule& schedule);

}  // namespace chimera
