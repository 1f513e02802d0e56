// Ranks as threads of this process.
#pragma once

#include <functional>
#include <memory>

#include "chimera/comm/threads.h"
#include "chimera/exec/stage_compute.h"

namespace chimera {

// Calls `body` once per rank, each on a thread of its own. The first rank that
// throws aborts all others, and its exception is thrown here once every thread
// has ended.
// REQUIRES: buffers given to collectives outlive this call.
void run_threads(const ThreadsOptions& options,
                 const std::function<void(Transport& transport)>& body);

// The same for ranks that compute: `make` gives each its StageCompute, which
// outlives the transport, whose collectives use its buffers.
void run_workers(
    const ThreadsOptions& options,
    const std::function<std::unique_ptr<StageCompute>(int rank)>& make,
    const std::function<void(Transport& transport, StageCompute& compute)>&
        body);

}  // namespace chimera
