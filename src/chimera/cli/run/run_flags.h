// The flags that `train` and `verify` share: which configuration to run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/cli/values.h"
#include "chimera/config/run_config.h"
#include "chimera/train/setup.h"

namespace chimera {

struct RunFlags {
  std::string config;
  std::vector<std::string> overrides;

  void add_to(CLI::App& command);
  // Notes in `values` what is missing; the config otherwise.
  [[nodiscard]] Result<RunConfig> read(Values& values) const;
};

// On this host.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up_here(
    const RunConfig& config);

// Prints them all; 3 if only data and directories are at fault, else 2.
int print_run_errors(const Diagnostics& errors);

}  // namespace chimera
