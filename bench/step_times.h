// Step times of a trace, measured or simulated.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "chimera/base/median.h"
#include "chimera/trace/trace.h"

namespace chimera {

// The times from the end of each step's last event (except votes) to that of
// the next step. The first step is left out: the pipeline is cold.
inline std::vector<double> step_times(const Trace& trace) {
  std::vector<double> ends(trace.steps, 0.0);
  for (const Event& event : trace.events) {
    if (event.action.op == Op::kN) continue;
    ends[event.step] = std::max(ends[event.step], event.end);
  }
  std::vector<double> times;
  for (size_t step = 1; step < ends.size(); ++step) {
    times.push_back(ends[step] - ends[step - 1]);
  }
  return times;
}

inline double mean_step(const Trace& trace) {
  const std::vector<double> times = step_times(trace);
  return std::accumulate(times.begin(), times.end(), 0.0) /
         static_cast<double>(times.size());
}

inline double median_step(const Trace& trace) {
  return median(step_times(trace));
}

}  // namespace chimera
