// chimera train --dry-run: reports everything that can be known of a run
// without running it.
#pragma once

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"

namespace chimera {

// Makes all checks of a run, and prints its layout and predicted costs. Times
// are predicted from one layer of each kind, measured here. Writes nothing.
// Returns the exit code.
int dry_run(const Result<RunConfig>& config, bool resume);

}  // namespace chimera
