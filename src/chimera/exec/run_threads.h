// All ranks of a run as threads of this process.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "chimera/comm/threads.h"
#include "chimera/exec/stage_compute.h"

namespace chimera {

// What one rank runs on.
struct RankSite {
  Transport& transport;
  StageCompute& compute;
};

// Calls `make` and then `body` once per rank, each rank on a thread of its own
// that lives as long as both. The first rank that throws aborts all others,
// and its exception is thrown here once every thread has ended. What `make`
// returned outlives the transport, whose sums use its buffers.
void run_threads(
    const ThreadsOptions& options,
    const std::function<std::unique_ptr<StageCompute>(int rank)>& make,
    const std::function<void(const RankSite& site)>& body);

}  // namespace chimera
