#include "chimera/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace chimera {
namespace {

[[noreturn]] void fail_write(const std::string& path) {
  throw IoError("cannot write " + path + ": " + std::strerror(errno));
}

// Closes and, unless it was renamed, removes a file that is being written.
class PartialFile {
 public:
  PartialFile(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!name_.empty()) unlink(name_.c_str());
  }

  [[nodiscard]] bool write_all(std::string_view text) const {
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t count =
          write(descriptor_, text.data() + done, text.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      done += static_cast<size_t>(count);
    }
    return true;
  }
  [[nodiscard]] bool rename_to(const std::string& path) {
    if (rename(name_.c_str(), path.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  int descriptor_;
  std::string name_;
};

// The file that `path` means, behind any symbolic links.
std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) == nullptr ? path : buffer;
}

// Under a temporary name first, so that the file appears whole or not at all.
void write_regular(std::string_view text, const std::string& path,
                   mode_t mode) {
  const std::string target = resolved(path);
  std::string name = target + ".XXXXXX";
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) fail_write(path);
  PartialFile file(descriptor, name);
  if (!file.write_all(text) || fchmod(descriptor, mode) != 0 ||
      !file.rename_to(target)) {
    fail_write(path);
  }
}

// Devices and pipes are written in place.
void write_special(std::string_view text, const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail_write(path);
  const PartialFile file(descriptor, "");
  if (!file.write_all(text)) fail_write(path);
}

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    const mode_t mask = umask(0);
    umask(mask);
    write_regular(text, path, 0666 & ~mask);
  } else if (S_ISREG(status.st_mode)) {
    if (access(path.c_str(), W_OK) != 0) fail_write(path);
    write_regular(text, path, status.st_mode & 07777);
  } else {
    write_special(text, path);
  }
}

Result<std::string> read_file(const std::string& path) {
  const auto refuse = [&](const std::string& needed) {
    return Diagnostic{
        .code = "E405", .found = "file \"" + path + "\"", .needed = needed};
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse(std::string("cannot be read: ") + strerror(errno));
  constexpr size_t kMost = size_t{1} << 30;
  constexpr size_t kBlock = size_t{1} << 16;
  std::string text;
  while (file && text.size() <= kMost) {
    const size_t have = text.size();
    text.resize(have + kBlock);
    file.read(text.data() + have, kBlock);
    text.resize(have + static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return refuse("cannot be read (is it a directory?)");
  if (text.size() > kMost) return refuse("is larger than 1 GiB");
  return text;
}

}  // namespace chimera
