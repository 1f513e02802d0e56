// How many activations each worker holds at which time of a simulated trace.
#pragma once

#include <vector>

#include "chimera/schedule/schedule.h"
#include "chimera/trace/trace.h"

namespace chimera::playground {

// Holds for `time` and later, until the next point.
struct HeldPoint {
  double time = 0;
  double held = 0;  // in D-ths of the model
};

// [worker]: the points at which what it holds changes, by time. A micro-batch
// is held as WorkerStats::peak_activations counts it, which is the largest
// value.
[[nodiscard]] std::vector<std::vector<HeldPoint>> held_curves(
    const Schedule& lowered, const Trace& trace);

}  // namespace chimera::playground
