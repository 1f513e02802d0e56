// The discrete-event simulator: from a lowered schedule and costs to the trace
// of a step, with makespan, idle time and memory.
//
// A worker runs its list in order, and compute occupies it. A message leaves
// when its send is reached and arrives after message_time(); all of it but the
// latency occupies the directed link. A sum starts
// when its last member has started it, overlaps compute and occupies the links
// between its members, or its share of their network cards. docs/simulator.md
// lists what is not modelled.
//
// Complexity: linear in actions (times the logarithm of the workers).
#pragma once

#include <optional>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"
#include "chimera/trace/trace.h"

namespace chimera {

struct SimulateOptions {
  int steps = 1;
  // Processors that all workers of all copies share; 0 = one for each. When
  // more workers compute than there are cores, all slow down equally.
  int cores = 0;
  // Slow-down of compute when all cores are busy, as a fraction (cores share
  // the memory bus); proportionally less when only some are busy.
  double contention = 0;
  // Standard deviation of the time of an action, a message or a sum, as a
  // fraction of it; 0 = none. `play` selects the random numbers.
  double jitter = 0;
  int play = 0;
  // The most activations a worker may hold; used for the lower bound only.
  std::optional<double> cap;
};

struct WorkerStats {
  double busy = 0;   // time in compute, recomputation and updates
  double first = 0;  // start of its first compute
  double last = 0;   // end of its last compute
  // The most micro-batches held at once, in D-ths of the model. Each is held
  // from the start of F (of R with recomputation) to the end of the last B or
  // W, but between I and W it counts StageCosts::omega.
  double peak_activations = 0;

  bool operator==(const WorkerStats&) const = default;
};

struct Simulation {
  Trace trace;
  double makespan = 0;
  double ideal = 0;  // compute time of the busiest worker
  // The lower bound for this placement and these costs; see bound.h.
  double bound = 0;
  double bubble_ratio = 0;  // 1 - sum(busy) / (workers * makespan)
  // The cost of one more step: the time between the ends of the last two steps.
  // For an asynchronous schedule these are the last two that end before it
  // starts to drain, if there are two. With one step it equals makespan.
  double period = 0;
  // The end of each step; of an asynchronous schedule, of those before it
  // starts to drain, but at least of two.
  std::vector<double> step_ends;
  // In an asynchronous schedule: from the start of the last forward that worker
  // 0 runs before its first backward, when the pipe is full, to the end of the
  // drain. This is what a clock shows around steps x micros micro-batches.
  double window = 0;
  // With several steps: the lower bound on the period; see period_bound.h.
  double period_bound = 0;
  std::vector<WorkerStats> workers;  // of one copy
  std::vector<int> critical_path;    // indices into trace.events
};

// Simulates options.steps steps. REQUIRES: `schedule` is lowered and valid;
// `costs` has one entry per stage; options.steps >= 1.
[[nodiscard]] Simulation simulate(const Schedule& schedule, const Costs& costs,
                                  const SimulateOptions& options = {});

// The mean makespan over several plays with jitter, at least that without
// jitter. It is usually larger: workers and copies that wait for each other
// always wait for the slower one.
[[nodiscard]] double expected_makespan(const Schedule& schedule,
                                       const Costs& costs,
                                       const SimulateOptions& options,
                                       int most_plays = 32);

// The mean time from the end of a step to the end of the next over several
// plays with jitter, at least that without. A play has options.steps steps, of
// which the first two do not count. REQUIRES: options.steps > 3.
[[nodiscard]] double expected_period(const Schedule& schedule,
                                     const Costs& costs,
                                     const SimulateOptions& options,
                                     int most_plays = 16);

}  // namespace chimera
