// Runs ranks as threads of this process.
#pragma once

#include <functional>
#include <memory>

#include "chimera/comm/threads.h"
#include "chimera/exec/stage_compute.h"

namespace chimera {

// Calls `body` once per rank, each on its own thread. The first rank that
// throws aborts all others, and its exception is rethrown once every thread has
// ended. REQUIRES: buffers given to collectives outlive this call.
void run_threads(const ThreadsOptions& options,
                 const std::function<void(Transport& transport)>& body);

// Does the same for ranks with a StageCompute, which `make` creates. It
// outlives the transport, whose collectives use its buffers.
void run_workers(
    const ThreadsOptions& options,
    const std::function<std::unique_ptr<StageCompute>(int rank)>& make,
    const std::function<void(Transport& transport, StageCompute& compute)>&
        body);

}  // namespace chimera
