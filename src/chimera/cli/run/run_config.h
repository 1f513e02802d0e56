// From what was typed to a run that is ready, or every mistake printed.
#pragma once

#include <memory>

#include "chimera/base/result.h"
#include "chimera/cli/run_module.h"
#include "chimera/config/run_config.h"
#include "chimera/train/setup.h"

namespace chimera {

[[nodiscard]] Result<RunConfig> read_run_config(const RunRequest& request);

// On this host, of whose ranks so many are here; 0 = all of the run. Goes on
// from `checkpoint`, unless it is empty.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up_here(
    const RunConfig& config, const std::string& checkpoint = "",
    int ranks_here = 0);

// 3 if only data and directories are at fault, 4 if only checkpoints, else 2.
[[nodiscard]] int exit_code_of(const Diagnostics& errors);
// Prints them all, and returns their exit code.
int print_run_errors(const Diagnostics& errors);

}  // namespace chimera
