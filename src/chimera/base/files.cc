#include "chimera/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>

namespace chimera {
namespace {

[[noreturn]] void fail_write(const std::string& path) {
  throw IoError("cannot write " + path + ": " + std::strerror(errno));
}

// The file that `path` refers to once symbolic links are followed.
std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) == nullptr ? path : buffer;
}

}  // namespace

WholeFile::WholeFile(std::string path)
    : path_(std::move(path)), target_(resolved(path_)) {
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0) {
    create(0666);
  } else if (S_ISREG(status.st_mode)) {
    if (access(path_.c_str(), W_OK) != 0) fail_write(path_);
    const mode_t mode = status.st_mode & 07777;
    create(mode);
    keep_mode(mode);
  } else {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_write(path_);
  }
}

// Leaves the umask to the kernel: reading it means setting it, for all other
// threads too.
void WholeFile::create(unsigned mode) {
  do {
    temporary_ = target_ + "." + std::to_string(std::random_device{}());
    descriptor_ =
        open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail_write(path_);
}

// Restores the mode of the file that is replaced; the umask applies to new
// files only.
void WholeFile::keep_mode(unsigned mode) {
  if (fchmod(descriptor_, mode) == 0) return;
  const int reason = errno;
  close(descriptor_);
  unlink(temporary_.c_str());
  errno = reason;
  fail_write(path_);
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void WholeFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_write(path_);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void WholeFile::sync() {
  if (fsync(descriptor_) != 0) fail_write(path_);
}

void WholeFile::finish() {
  // Some file systems report a full disk only at close().
  if (close(std::exchange(descriptor_, -1)) != 0) fail_write(path_);
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail_write(path_);
  temporary_.clear();
}

AppendFile::AppendFile(std::string path)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                       0666)) {
  if (descriptor_ < 0) fail_write(path_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void AppendFile::append(std::string_view bytes) {
  const off_t begin = lseek(descriptor_, 0, SEEK_END);
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t count = ::write(descriptor_, left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      // If truncating fails too, the file ends with the incomplete piece.
      [[maybe_unused]] const int done = ftruncate(descriptor_, begin);
      errno = reason;
      fail_write(path_);
    }
    left.remove_prefix(static_cast<size_t>(count));
  }
}

void write_file(const std::string& path, std::string_view text) {
  WholeFile file(path);
  file.write(text);
  file.finish();
}

void write_durably(const std::string& path, std::string_view text) {
  WholeFile file(path);
  file.write(text);
  file.sync();
  file.finish();
}

void sync_directory(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_write(path);
  const int result = fsync(descriptor);
  const int reason = errno;
  close(descriptor);
  errno = reason;
  if (result != 0) fail_write(path);
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
