// A whole file mapped into memory. The system reads pages when they are used,
// so a corpus may be larger than the memory, and workers on one host share its
// pages. Truncating a file while it is mapped ends the process (SIGBUS).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "chimera/base/result.h"

namespace chimera {

class MappedFile {
 public:
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)),
        bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  // At least one byte, page-aligned. Moving the object does not move the bytes.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  friend Result<MappedFile> map_file(const std::string& path);
  MappedFile(std::string path, std::string_view bytes)
      : path_(std::move(path)), bytes_(bytes) {}

  std::string path_;
  std::string_view bytes_;
};

// Refuses a file that is missing, unreadable, not regular or empty.
[[nodiscard]] Result<MappedFile> map_file(const std::string& path);

}  // namespace chimera
