// Plain bytes as a payload, for messages other than tensors.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "chimera/base/check.h"
#include "chimera/comm/payload.h"

namespace chimera {

class BytesPayload final : public Payload {
 public:
  explicit BytesPayload(std::vector<std::byte> content)
      : content_(std::move(content)) {}

  std::span<std::byte> bytes() override { return content_; }

 private:
  std::vector<std::byte> content_;
};

[[nodiscard]] inline PayloadMaker empty_bytes(std::size_t size) {
  return [size] {
    return std::make_unique<BytesPayload>(std::vector<std::byte>(size));
  };
}

// Copies a trivially copyable value, or the values of a span, into a payload.
template <class T>
[[nodiscard]] PayloadPtr to_payload(std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::span<const std::byte> bytes = std::as_bytes(values);
  return std::make_unique<BytesPayload>(
      std::vector<std::byte>(bytes.begin(), bytes.end()));
}
template <class T>
[[nodiscard]] PayloadPtr to_payload(const T& value) {
  return to_payload(std::span<const T>(&value, 1));
}

template <class T>
[[nodiscard]] std::vector<T> values_of(Payload& payload) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::span<const std::byte> bytes = payload.bytes();
  CHIMERA_CHECK_EQ(bytes.size() % sizeof(T), 0U);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
template <class T>
[[nodiscard]] T from_payload(Payload& payload) {
  return values_of<T>(payload).at(0);
}

}  // namespace chimera
