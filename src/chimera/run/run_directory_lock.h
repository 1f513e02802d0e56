// Ensures that one run at a time works in a run directory. The run holds a lock
// on RUN_DIR/.lock, which the kernel releases when the process ends, however it
// ends. The file itself stays: removing it would let another run in while the
// lock is held.
//
// Error code:
//   E575 another run is using the directory
#pragma once

#include <memory>
#include <string>

#include "chimera/base/result.h"

namespace chimera {

// Holds the lock during its lifetime.
class RunDirectoryLock {
 public:
  // Takes ownership of `descriptor`, the locked file of the directory `path`.
  RunDirectoryLock(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  RunDirectoryLock(const RunDirectoryLock&) = delete;
  RunDirectoryLock& operator=(const RunDirectoryLock&) = delete;
  ~RunDirectoryLock();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_;
};
using RunDirectoryLockPtr = std::shared_ptr<const RunDirectoryLock>;

// Creates the directory if it is missing. E575 if it is locked already, even by
// this process. A file system without locks is accepted. Throws IoError.
[[nodiscard]] Result<RunDirectoryLockPtr> lock_run_directory(
    const std::string& path);

}  // namespace chimera
