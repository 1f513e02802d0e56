// Makes a configuration from the command line and prints mistakes to stderr.
#pragma once

#include "chimera/base/result.h"
#include "chimera/commands/run_module.h"
#include "chimera/config/run_config.h"

namespace chimera {

[[nodiscard]] Result<RunConfig> read_run_config(const RunRequest& request);

// Prints all errors and returns their exit code.
int print_run_errors(const Diagnostics& errors);

}  // namespace chimera
