// From what was typed to a run that is ready, or every mistake printed.
#pragma once

#include <memory>

#include "chimera/base/result.h"
#include "chimera/cli/run_module.h"
#include "chimera/config/run_config.h"
#include "chimera/train/setup.h"

namespace chimera {

[[nodiscard]] Result<RunConfig> read_run_config(const RunRequest& request);

// On this host.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up_here(
    const RunConfig& config);

// Prints them all; 3 if only data and directories are at fault, else 2.
int print_run_errors(const Diagnostics& errors);

}  // namespace chimera
