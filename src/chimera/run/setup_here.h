// set_up() with the cores of this host.
#pragma once

#include <memory>
#include <string>

#include "chimera/train/setup.h"

namespace chimera {

struct SetupHere {
  std::string checkpoint = {};  // to go on from; empty: from the first step
  int ranks_here = 0;           // on this host; 0: all ranks of the run
  bool scans_data = true;       // false: another rank does
};

// All cores count, whatever this process is bound to.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up_here(
    const RunConfig& config, const SetupHere& options = {});

}  // namespace chimera
