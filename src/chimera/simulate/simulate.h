// The discrete-event simulator: a lowered schedule and its costs in, the trace
// it would leave out, with makespan, idle time and memory.
//
// A worker runs its list in order and compute occupies it. A message leaves
// when its send is reached and arrives after latency + bytes * time_per_byte;
// the second part occupies the directed link, latency does not. A sum starts
// when its last member has started it, overlaps compute and occupies the links
// between its members. docs/simulator.md says what is not modelled.
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
  // more workers compute than there are cores, all run equally slower.
  int cores = 0;
  // How much longer compute takes when all cores are busy than when one is:
  // they share the way to memory. In proportion when some are.
  double contention = 0;
  // Standard deviation of an action's time, as a share of it, from one worker
  // or moment to the next: none, or as the play of this number has it.
  double jitter = 0;
  int play = 0;
  // For the lower bound: the most activations a worker may hold.
  std::optional<double> cap;
};

struct WorkerStats {
  double busy = 0;   // in compute, recomputation and updates
  double first = 0;  // start of its first compute
  double last = 0;   // end of its last
  // Micro-batches held at once, in D-ths of the model: from the start of F (of
  // R with recomputation) to the end of the last B or W.
  double peak_activations = 0;

  bool operator==(const WorkerStats&) const = default;
};

struct Simulation {
  Trace trace;
  double makespan = 0;
  double ideal = 0;  // the busiest worker's compute
  // No order of this placement and these costs can take less: see bound.h.
  double bound = 0;
  double bubble_ratio = 0;  // 1 - sum(busy) / (workers * makespan)
  // What one more step costs: the time between the ends of the last two steps,
  // of an asynchronous schedule the last two that end before it only drains
  // (if there are so many). Equal to makespan with one step.
  double period = 0;
  // With several steps: no order has a shorter period; see period_bound.h.
  double period_bound = 0;
  std::vector<WorkerStats> workers;  // of one copy
  std::vector<int> critical_path;    // indices into trace.events, first to last
};

// REQUIRES: `schedule` is lowered and validates clean; costs has one entry per
// stage; options.steps >= 1.
[[nodiscard]] Simulation simulate(const Schedule& schedule, const Costs& costs,
                                  const SimulateOptions& options = {});

// The mean makespan of several plays, never below the one without jitter. Where
// workers or copies wait for each other the slower one of the moment counts, so
// it is above that.
[[nodiscard]] double expected_makespan(const Schedule& schedule,
                                       const Costs& costs,
                                       const SimulateOptions& options,
                                       int most_plays = 32);

}  // namespace chimera
