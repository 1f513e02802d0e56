// Helpers shared by the tests of Hugging Face directories.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "chimera/base/files.h"
#include "chimera/files/safetensors_write.h"

namespace chimera {

// A new, empty folder.
inline std::string new_folder() {
  std::string name = ::testing::TempDir() + "chimera_hf.XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The bytes of a file with this header and `data_bytes` bytes of data.
inline std::string file_text(const std::string& header, size_t data_bytes) {
  const auto length =
      std::bit_cast<std::array<char, 8>>(std::uint64_t{header.size()});
  return std::string(length.data(), 8) + header + std::string(data_bytes, '\0');
}

// The error codes of a failed Result, in order: "E531 E533"; "" on success.
template <class T>
std::string codes_of(const Result<T>& result) {
  std::string codes;
  if (result) return codes;
  for (const Diagnostic& error : result.errors()) {
    codes += (codes.empty() ? "" : " ") + error.code;
  }
  return codes;
}

// A float32 tensor that owns its values.
struct OwnedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  [[nodiscard]] TensorView view() const {
    return {.name = name,
            .type = TensorType::kF32,
            .shape = shape,
            .data = std::as_bytes(std::span(values))};
  }
};

inline std::vector<TensorView> views(const std::vector<OwnedTensor>& tensors) {
  std::vector<TensorView> all;
  for (const OwnedTensor& tensor : tensors) all.push_back(tensor.view());
  return all;
}

}  // namespace chimera
