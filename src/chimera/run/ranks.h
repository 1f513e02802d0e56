// This process as one rank of an MPI world.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/run/launcher.h"
#include "chimera/run/run.h"

namespace chimera {

// run() where a launcher has started several processes.
[[nodiscard]] RunEnd run_as_rank(const Result<RunConfig>& config,
                                 const RunOptions& options, Launcher launcher,
                                 RunObserver& observer);

struct RankWork {
  int ranks = 1;  // that there must be
  std::chrono::duration<double> deadline{300};
  std::vector<std::vector<int>> groups;  // as in MpiOptions
};

// Other work than a run: `body` on every rank, with `ranks_here` of them on its
// host. Returns the exit code; if a peer is lost, the process ends.
//   E571 another number of ranks than `work` needs
//   E573 a build without MPI
[[nodiscard]] ExitCode work_as_rank(
    const RankWork& work, Launcher launcher, RunObserver& observer,
    const std::function<void(Transport& transport, int ranks_here)>& body);

// "Open MPI v4.1.4"; empty in a build without MPI.
[[nodiscard]] std::string mpi_library();

}  // namespace chimera
