// The checkpoints of a run directory, and which of them to go on from.
//
//   RUN_DIR/checkpoints/step-00000010          complete: it was renamed at last
//   RUN_DIR/checkpoints/step-00000020.damaged  found unfit when the run went on
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
// Where a checkpoint is written before it gets its name.
[[nodiscard]] std::string saving_path(const std::string& run_dir, int step);

struct CheckpointEntry {
  int step = 0;
  std::string path;
};
// Newest first, whether sound or not.
[[nodiscard]] std::vector<CheckpointEntry> list_checkpoints(
    const std::string& run_dir);

struct Skipped {
  std::string path;
  Diagnostics reasons;
};
struct Newest {
  std::optional<std::string> path;  // none: there is no sound checkpoint
  std::vector<Skipped> skipped;     // newer ones
};
// The newest checkpoint all of whose bytes are as they were written.
[[nodiscard]] Newest find_newest(const std::string& run_dir);

// Before a run writes checkpoints of its own: removes what a save that was cut
// off has left, and moves the skipped ones out of the way. Returns a warning
// for each leftover that stays, which costs space and nothing else. Throws
// IoError.
std::vector<std::string> tidy_checkpoints(const std::string& run_dir,
                                          const std::vector<Skipped>& skipped);

}  // namespace chimera
