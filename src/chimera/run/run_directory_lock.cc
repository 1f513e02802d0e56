#include "chimera/run/run_directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "chimera/base/files.h"

namespace chimera {

RunDirectoryLock::~RunDirectoryLock() { close(descriptor_); }

Result<RunDirectoryLockPtr> lock_run_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw IoError("cannot make the run directory " + path + ": " +
                  error.message() + "; choose another with --run-dir");
  }
  const std::string file = path + "/.lock";
  // Opened for writing, because NFS grants no exclusive lock otherwise.
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    throw IoError("cannot write to the run directory " + path + ": " +
                  std::strerror(errno) + "; choose another with --run-dir");
  }
  auto lock = std::make_shared<const RunDirectoryLock>(path, descriptor);
  // Any other failure (ENOLCK, EOPNOTSUPP, Lustre's ENOSYS) means that the file
  // system has no locks; the run goes on without one.
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    return RunDirectoryLockPtr(std::move(lock));
  }
  return Diagnostic{.code = "E575",
                    .where = path,
                    .found = "another run is using this directory",
                    .needed = "and only one can at a time",
                    .hint =
                        "wait until it has ended, or end it; or name another "
                        "--run-dir"};
}

}  // namespace chimera
