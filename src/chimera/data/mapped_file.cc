#include "chimera/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "chimera/tokenizer/corpus/input_files.h"

namespace chimera {
namespace {

class Descriptor {
 public:
  // Opened non-blocking, so that a pipe is refused instead of waited for.
  explicit Descriptor(const std::string& path)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

Result<MappedFile> map_file(const std::string& path) {
  const Descriptor file(path);
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) {
    return unreadable(path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) return unreadable(path, "not a regular file");
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    return Diagnostic{.kind = DiagnosticKind::kData,
                      .code = "E502",
                      .where = path,
                      .found = "0 bytes",
                      .needed = "hold nothing to train on",
                      .hint = "was the file written to its end?"};
  }
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (memory == MAP_FAILED) return unreadable(path, std::strerror(errno));
  return MappedFile(path, {static_cast<const char*>(memory), size});
}

}  // namespace chimera
