#include "chimera/files/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

namespace chimera {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are used as they are in the file");

// Maps a file. An empty file cannot be mapped and gives an empty span.
Result<std::span<const std::byte>> map_file(const std::string& path) {
  const auto refuse = [&](const std::string& needed) {
    return Diagnostic{
        .code = "E405", .found = "file \"" + path + "\"", .needed = needed};
  };
  // O_NONBLOCK, because opening a pipe must not wait for its other end.
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return refuse(std::string("cannot be read: ") + std::strerror(errno));
  }
  struct stat status {};
  const bool regular =
      fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<size_t>(status.st_size);
  void* bytes = MAP_FAILED;
  if (regular && size > 0) {
    bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  const int reason = errno;
  close(descriptor);
  if (!regular) return refuse("must be a regular file");
  if (size == 0) return std::span<const std::byte>();
  if (bytes == MAP_FAILED) {
    return refuse(std::string("cannot be mapped: ") + std::strerror(reason));
  }
  return std::span(static_cast<const std::byte*>(bytes), size);
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path,
                                 std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes) {}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      bytes_(std::exchange(other.bytes_, {})),
      header_(std::move(other.header_)),
      by_name_(std::move(other.by_name_)) {}

SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(header_, other.header_);
  std::swap(by_name_, other.by_name_);
  return *this;
}

SafetensorsFile::~SafetensorsFile() {
  if (bytes_.empty()) return;
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  const auto bytes = map_file(path);
  if (!bytes) return bytes.errors();
  SafetensorsFile file(path, *bytes);
  auto header = parse_safetensors_header(*bytes, path);
  if (!header) return header.errors();
  file.header_ = std::move(header).value();
  file.by_name_.resize(file.tensors().size());
  std::iota(file.by_name_.begin(), file.by_name_.end(), size_t{0});
  std::sort(file.by_name_.begin(), file.by_name_.end(),
            [&](size_t a, size_t b) {
              return file.tensors()[a].name < file.tensors()[b].name;
            });
  return file;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto place = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](size_t i, std::string_view n) { return tensors()[i].name < n; });
  if (place == by_name_.end() || tensors()[*place].name != name) return nullptr;
  return &tensors()[*place];
}

std::span<const std::byte> SafetensorsFile::data(const TensorInfo& info) const {
  return bytes_.subspan(header_.data_begin + info.begin, info.end - info.begin);
}

}  // namespace chimera
