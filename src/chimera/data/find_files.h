// Finds the files that data.path names.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

struct DataFile {
  std::string path;
  size_t entry = 0;  // index in data.path
};

// Names with *, ? or [ are shell patterns and give all matching files, sorted.
// Refuses (E501) a pattern that matches no file.
[[nodiscard]] Result<std::vector<DataFile>> find_files(
    const std::vector<std::string>& paths);

}  // namespace chimera
