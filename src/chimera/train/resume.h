// The part of set_up() that goes on from a checkpoint. Codes beside those of
// checkpoint/manifest.h:
//   E584 a checkpoint of another model
//   E585 a checkpoint of another optimizer
//   E586 a checkpoint that is further than train.steps
#pragma once

#include <string>

#include "chimera/base/result.h"
#include "chimera/train/setup.h"

namespace chimera {

// REQUIRES: model and schedule are set up.
[[nodiscard]] Result<StartPoint> read_start(const RunSetup& setup,
                                            const std::string& path);

// Sets setup.start, and adds notices.
[[nodiscard]] Diagnostics set_up_resume(RunSetup& setup,
                                        const std::string& path);

}  // namespace chimera
