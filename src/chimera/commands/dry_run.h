// chimera train --dry-run: everything that can be known of a run without
// running it.
#pragma once

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"

namespace chimera {

// Checks all that a run checks, and prints its layout and what it would take;
// times are predicted from one layer of each kind, measured here. Writes
// nothing. Returns the exit code.
int dry_run(const Result<RunConfig>& config, bool resume);

}  // namespace chimera
