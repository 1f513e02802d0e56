// The schedule that a run.toml asks for, lowered and proven. Torch-free.
#pragma once

#include <optional>
#include <string>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct RunScheduleOptions {
  // The model's first and last stage share a weight. Absent: only model.init
  // knows, and has not been asked; then what a lowered file has is right.
  std::optional<bool> tied = false;
  // What a planned order is planned for; null: the times of emulated stages,
  // else F = I = W.
  const Costs* costs = nullptr;
  // Where planning starts from: never to be worse than this; may be null.
  const Schedule* running = nullptr;  // lowered
};

// From schedule.scheme, or from schedule.file unless that comes later
// (make_replanned_schedule). Beyond what is wrong with the
// schedule itself, the codes are
//   E209 more workers than can be counted with
//   E560 a file that says another depth, micros, width or scheme than run.toml
//   E561 what an asynchronous scheme cannot do
//   E562 backward halving of an odd micro-batch (from a file)
//   E563 emulated times for another number of stages
//   E570 a lowered file without what run.toml asks of it
//   E574 schedule.replan_after without a planned order
// REQUIRES: check_for_training() is content.
[[nodiscard]] Result<Schedule> make_run_schedule(
    const RunConfig& config, const RunScheduleOptions& options);

// The order to go over to after schedule.replan_after steps: planned with
// options.costs, or schedule.file, which repeats an earlier run's choice. It
// may differ from the running one in the order of each worker's actions, and in
// nothing else: placement, work, groups, on which side of the updates the vote
// stands (E574).
// REQUIRES: options.running is there.
[[nodiscard]] Result<Schedule> make_replanned_schedule(
    const RunConfig& config, const RunScheduleOptions& options);

// Why the workers that are left could not save the run when one is lost; empty
// if they can: every stage has two holders at least, each with all there is to
// save, and all update at once.
[[nodiscard]] std::string why_no_recovery(const RunConfig& config,
                                          const Schedule& schedule);

// The times of emulated stages as the simulator takes them, in seconds.
// REQUIRES: an emulated model that make_run_schedule took.
[[nodiscard]] Costs emulated_costs(const RunConfig& config,
                                   const Schedule& schedule);

}  // namespace chimera
