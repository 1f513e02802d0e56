// The part of set_up() that resumes from a checkpoint. Error codes besides
// those of checkpoint/manifest.h:
//   E584 a checkpoint of another model
//   E585 a checkpoint of another optimizer
//   E586 a checkpoint with more steps than train.steps
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "chimera/base/result.h"
#include "chimera/checkpoint/checkpoint.h"
#include "chimera/train/setup.h"

namespace chimera {

using CheckpointPtr = std::shared_ptr<const Checkpoint>;

struct SavedRun {
  CheckpointPtr checkpoint;
  // The model that was saved; empty for user-defined layers.
  std::optional<HfShape> shape;
};
[[nodiscard]] Result<SavedRun> open_saved(const std::string& path);

// Checks that the checkpoint fits the run. REQUIRES: model and schedule are set
// up.
[[nodiscard]] Result<StartPoint> read_start(const RunSetup& setup,
                                            const std::string& path);

// Sets setup.start and adds notices.
[[nodiscard]] Diagnostics set_up_resume(RunSetup& setup, const SavedRun& saved);

}  // namespace chimera
