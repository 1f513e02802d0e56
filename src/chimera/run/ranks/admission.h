// How a process becomes a rank of the run: it reads its files, and all ranks
// compare what they have read. Either all are admitted or none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/mpi/session.h"
#include "chimera/run/run.h"
#include "chimera/run/run_directory.h"
#include "chimera/train/setup.h"

namespace chimera {

struct Admission {
  // The same on every rank; the rest is there only if it is kExitDone.
  ExitCode code = kExitDone;
  std::unique_ptr<RunSetup> setup;  // with rank 0's run.dir and all rank_names
  std::vector<std::string> hosts;   // [rank]
  std::string version;              // of the program
  std::optional<RunDirectory> directory;  // on rank 0
  std::string resumed;                    // from where it goes on, in words
};

// `config` as this rank has read it, or what is wrong with it. Says what is
// wrong: a wrong number of ranks on every rank, all else on rank 0. Throws
// TimeoutError.
[[nodiscard]] Admission admit(MpiSession& session,
                              const Result<RunConfig>& config,
                              const RunOptions& options, RunObserver& observer);

}  // namespace chimera
