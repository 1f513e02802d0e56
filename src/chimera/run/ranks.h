// Runs this process as one rank of an MPI world.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/run/launcher.h"
#include "chimera/run/run.h"

namespace chimera {

// run() for a process that a launcher started as one of several.
[[nodiscard]] RunEnd run_as_rank(const Result<RunConfig>& config,
                                 const RunOptions& options, Launcher launcher,
                                 RunObserver& observer);

// This process among the ranks of its host.
struct HostPlace {
  int ranks = 1;
  int local_rank = 0;
};

struct RankWork {
  int ranks = 1;  // number of ranks required
  std::chrono::duration<double> deadline{300};
  std::vector<std::vector<int>> groups;  // as in MpiOptions
  // Called before the ranks connect. What it finds is reported, and ends this
  // rank with exit code 2.
  std::function<Diagnostics(const HostPlace& place)> check;
};

// Calls `body` on every rank. Returns the exit code; ends the process if a peer
// is lost. E571 if `work` needs another number of ranks, E573 in a build
// without MPI.
using RankBody =
    std::function<void(Transport& transport, const HostPlace& place)>;
[[nodiscard]] ExitCode work_as_rank(const RankWork& work, Launcher launcher,
                                    RunObserver& observer,
                                    const RankBody& body);

// "Open MPI v4.1.4"; empty in a build without MPI.
[[nodiscard]] std::string mpi_library();

}  // namespace chimera
