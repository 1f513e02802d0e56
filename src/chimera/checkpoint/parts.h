// How a checkpoint gets written: each rank writes its part, and one of them
// commits when all are there. A part becomes visible to others by its own
// manifest, so the ranks need nothing but the directory that they share.
#pragma once

#include <string>
#include <vector>

#include "chimera/checkpoint/manifest.h"
#include "chimera/exec/train_state.h"

namespace chimera {

struct PartOrder {
  std::string folder;  // saving_path(); made if it is not there
  int rank = 0;
  // What the manifest says beside files and tensors.
  Manifest head = {};
};

// Every byte is on disk when it returns. Throws IoError.
// REQUIRES: the pieces hold float32.
void write_part(const PartOrder& order, const std::vector<StatePiece>& pieces);

// Whether a rank's part is complete.
[[nodiscard]] bool has_part(const std::string& folder, int rank);

struct CommitOrder {
  std::string run_dir;
  std::string folder;
  std::vector<int> ranks;  // whose parts make up the checkpoint
  int keep = 1;            // of the newest ones stay
};

struct Committed {
  std::string path;
  std::string warning;  // why an old checkpoint is still there; may be empty
};

// Gives the checkpoint its name at last, then removes old ones, as far as they
// can be. Throws IoError, and then every earlier checkpoint is still there.
[[nodiscard]] Committed commit_parts(const CommitOrder& order);

// Removes what write_part() has left, if it can.
void give_up_parts(const std::string& folder) noexcept;

// Bytes that a checkpoint of these pieces takes.
[[nodiscard]] std::int64_t bytes_of(const std::vector<StatePiece>& pieces);

}  // namespace chimera
