// Admits processes as ranks of a run: each reads its files, and all ranks
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
  // Equal on every rank. The other members are set only if it is kExitDone.
  ExitCode code = kExitDone;
  std::unique_ptr<RunSetup> setup;  // with rank 0's run.dir and all rank_names
  std::vector<std::string> hosts;   // [rank]
  std::string version;              // of the program
  std::optional<RunDirectory> directory;  // on rank 0
  std::string resumed;                    // where the run resumes, in words
};

// `config` is what this rank has read, or its mistakes. A wrong number of ranks
// is reported on every rank, everything else on rank 0. Throws TimeoutError.
[[nodiscard]] Admission admit(MpiSession& session,
                              const Result<RunConfig>& config,
                              const RunOptions& options, RunObserver& observer);

}  // namespace chimera
