// The files that data.path names.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

struct DataFile {
  std::string path;
  size_t entry = 0;  // of data.path, that names it
};

// Names with *, ? or [ are patterns of the shell's kind, and give all files
// that fit, sorted. Refuses (E501) a pattern that no file fits.
[[nodiscard]] Result<std::vector<DataFile>> find_files(
    const std::vector<std::string>& paths);

}  // namespace chimera
