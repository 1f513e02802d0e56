// chimera train as one rank of an MPI world.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/cli/run/launcher.h"
#include "chimera/comm/transport.h"
#include "chimera/config/run_config.h"

namespace chimera {

// `config` as this rank has read it, or what is wrong with it. Returns the exit
// code, the same on every rank; where a peer is lost it does not return.
//   E571 another number of ranks than the schedule has workers
//   E573 a build without MPI
int train_as_rank(const Result<RunConfig>& config, bool resume,
                  Launcher launcher);

struct RankWork {
  int ranks = 1;  // that there must be
  std::chrono::duration<double> deadline{300};
  std::vector<std::vector<int>> groups;  // of collectives, by number
};

// One rank of something that is not a run: any rank may talk to any other.
// `ranks_here`: of this host. Returns the exit code; where a peer is lost it
// does not return. E571, E573.
int run_as_rank(
    const RankWork& work, Launcher launcher,
    const std::function<void(Transport& transport, int ranks_here)>& body);

// "Open MPI v4.1.4"; empty in a build without.
[[nodiscard]] std::string mpi_library();

}  // namespace chimera
