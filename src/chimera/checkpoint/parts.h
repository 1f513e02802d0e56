// Writing a checkpoint: each rank writes its part, and one rank commits once
// all parts exist. A part becomes visible through its own manifest, so ranks
// need only a shared directory.
#pragma once

#include <string>
#include <vector>

#include "chimera/checkpoint/manifest.h"
#include "chimera/exec/train_state.h"

namespace chimera {

struct PartOrder {
  std::string folder;  // saving_path(), created if missing
  int rank = 0;
  // The checkpoint's manifest, still without files and tensors.
  Manifest head = {};
};

// Writes a rank's part. ENSURES: every byte is on disk on return. Throws
// IoError. REQUIRES: the pieces hold float32.
void write_part(const PartOrder& order, const std::vector<StatePiece>& pieces);

// Whether a rank's part is complete.
[[nodiscard]] bool has_part(const std::string& folder, int rank);

struct CommitOrder {
  std::string run_dir;
  std::string folder;
  std::vector<int> ranks;  // ranks whose parts form the checkpoint
  int keep = 1;            // number of newest checkpoints to keep
};

struct Committed {
  std::string path;
  std::string warning;  // why an old checkpoint was not removed, or empty
};

// Renames the complete checkpoint to its final name, then removes old ones
// where possible. Throws IoError; then every earlier checkpoint still exists.
[[nodiscard]] Committed commit_parts(const CommitOrder& order);

// Removes the files that write_part() has written, if possible.
void give_up_parts(const std::string& folder) noexcept;

// Bytes of a checkpoint of these pieces.
[[nodiscard]] std::int64_t bytes_of(const std::vector<StatePiece>& pieces);

}  // namespace chimera
