// Whole files in and out. What cannot be read is the user's mistake, a value;
// what cannot be written is the world's failure, an exception.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "chimera/base/result.h"

namespace chimera {

// Disk full, directory gone, no permission. Exit code 8.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The file appears whole or not at all; links are followed and modes kept.
// Throws IoError.
void write_file(const std::string& path, std::string_view text);

// The whole file, at most 1 GiB of it.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace chimera
