// Divides the time of each worker into computing and waiting, by cause.
#pragma once

#include <vector>

#include "chimera/trace/trace.h"

namespace chimera {

enum class WaitReason {
  kActivation,  // sent by `worker`
  kGradient,    // sent by `worker`
  kSum,         // of gradients
  kVote,
  kRest,   // no cause in the trace: overhead or a busy host
  kEnded,  // from its last compute to the end of the slowest
};

struct Wait {
  WaitReason reason = WaitReason::kRest;
  int worker = kNone;  // sender of the awaited message
  double time = 0;

  bool operator==(const Wait&) const = default;
};

struct WorkerTime {
  double forward = 0;
  double backward = 0;
  double recompute = 0;
  double update = 0;
  std::vector<Wait> waits;  // one per (reason, worker), longest first

  [[nodiscard]] double busy() const {
    return forward + backward + recompute + update;
  }
};

// [worker], from the trace's first start to its makespan, without pauses
// between steps in which no worker has an event (evaluations). The time before
// a compute is attributed to the event that caused it to start, if that ended
// after the worker's previous compute. REQUIRES: the trace has causes. ENSURES:
// busy() and waits of a worker add up to that time, unless computes of the
// worker overlap.
[[nodiscard]] std::vector<WorkerTime> worker_times(const Trace& trace);

}  // namespace chimera
