// A list of token ids as a file stores them: 1, 2 or 4 bytes each, in the byte
// order of this machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace chimera {

class TokenIds {
 public:
  TokenIds() = default;
  // REQUIRES: `width` is 1, 2 or 4; `bytes` are aligned to it and outlive this
  // object. Bytes after the last whole id are ignored.
  TokenIds(std::string_view bytes, int width)
      : data_(bytes.data()),
        size_(static_cast<std::int64_t>(bytes.size()) / width),
        width_(width) {}

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] int width() const { return width_; }
  // REQUIRES: 0 <= index < size().
  [[nodiscard]] std::int64_t operator[](std::int64_t index) const {
    if (width_ == 2) return first<std::uint16_t>()[index];
    if (width_ == 1) return first<std::uint8_t>()[index];
    return first<std::uint32_t>()[index];
  }
  // The first id. REQUIRES: Id has the ids' width.
  template <class Id>
  [[nodiscard]] const Id* first() const {
    return reinterpret_cast<const Id*>(data_);
  }

 private:
  const char* data_ = nullptr;
  std::int64_t size_ = 0;
  int width_ = 1;
};

}  // namespace chimera
