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
#include "chimera/train/run_directory.h"
#include "chimera/train/setup.h"

namespace chimera {

struct Admission {
  int exit_code = 0;  // the same on every rank; of the rest only if it is 0
  std::unique_ptr<RunSetup> setup;
  std::optional<RunDirectory> directory;  // on rank 0
  std::string run_dir;                    // rank 0's
  std::string resumed;                    // from where it goes on, in words
  std::vector<std::string> hosts;         // [rank]
};

// `config` as this rank has read it, or what is wrong with it. Says what is
// wrong: a wrong number of ranks on every rank, all else on rank 0. Throws
// TimeoutError.
[[nodiscard]] Admission admit(MpiSession& session,
                              const Result<RunConfig>& config, bool resume);

}  // namespace chimera
