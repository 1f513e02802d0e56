// set_up() with the cores of this host.
#pragma once

#include <memory>
#include <string>

#include "chimera/train/setup.h"

namespace chimera {

struct SetupHere {
  std::string checkpoint = {};  // checkpoint to resume from; empty: none
  int ranks_here = 0;           // ranks that share this host; 0 means all
  int local_rank = 0;           // index of this process on its host
  std::function<OwnModel()> own_model = {};  // as in RunOptions
  bool scans_data = true;  // false if another rank scans the data file
};

// Counts all cores of the host, whatever this process is bound to.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up_here(
    const RunConfig& config, const SetupHere& options = {});

}  // namespace chimera
