// How many activations each worker holds at which time of a simulated trace.
#pragma once

#include <vector>

#include "chimera/schedule/schedule.h"
#include "chimera/trace/trace.h"

namespace chimera::playground {

// What a worker holds from `time` until the next point of its curve.
struct HeldPoint {
  double time = 0;
  double held = 0;  // in D-ths of the model
};

// [worker]: the points at which the number of held activations changes, by
// time. A micro-batch is held as WorkerStats::peak_activations counts it; the
// largest point equals that value.
[[nodiscard]] std::vector<std::vector<HeldPoint>> held_curves(
    const Schedule& lowered, const Trace& trace);

}  // namespace chimera::playground
