// The checkpoints of a run directory, and which of them to resume from.
//
//   RUN_DIR/checkpoints/step-00000010          complete, since it has its name
//   RUN_DIR/checkpoints/step-00000020.damaged  found damaged by a resume
//   RUN_DIR/checkpoints/step-00000020.damaged.2  the same, once more
//   RUN_DIR/checkpoints/.step-00000030.saving  being written, or cut off
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/checkpoint/checkpoint.h"

namespace chimera {

[[nodiscard]] std::string checkpoints_path(const std::string& run_dir);
[[nodiscard]] std::string checkpoint_path(const std::string& run_dir, int step);
// The folder in which a checkpoint is written before it is renamed.
[[nodiscard]] std::string saving_path(const std::string& run_dir, int step);

struct CheckpointEntry {
  int step = 0;
  std::string path;
};
// Lists all checkpoints, newest first, without checking them.
[[nodiscard]] std::vector<CheckpointEntry> list_checkpoints(
    const std::string& run_dir);

struct Skipped {
  std::string path;
  Diagnostics reasons;
};
struct Newest {
  std::optional<std::string> path;  // empty if no checkpoint is valid
  std::vector<Skipped> skipped;     // newer ones
};
// Finds the newest checkpoint whose bytes all match their hashes.
[[nodiscard]] Newest find_newest(const std::string& run_dir);

// Prepares the directory for new checkpoints: removes what interrupted saves
// left, and renames the damaged checkpoints that were skipped. Returns a
// warning for each leftover that could not be removed; it only costs space.
// Throws IoError.
std::vector<std::string> tidy_checkpoints(const std::string& run_dir,
                                          const std::vector<Skipped>& skipped);

}  // namespace chimera
