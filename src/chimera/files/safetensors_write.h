// Writing .safetensors files, whole or not at all, without a second copy of
// the tensors in memory. safetensors.h has the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "chimera/files/safetensors.h"

namespace chimera {

// A tensor that belongs to somebody else. Row-major, little endian.
struct TensorView {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data = {};
  // Gives the data of a tensor that is not in memory yet, each time it is
  // called; valid until the next call for any tensor. Empty: `data` is used.
  std::function<std::span<const std::byte>()> load = {};

  // Bytes of its data, by type and shape.
  [[nodiscard]] size_t bytes() const;
};

// Data is laid out by falling element size, so that every tensor is aligned,
// and else in the order given. The file outlives a crash of the machine once
// its directory is synced. Throws IoError.
// REQUIRES: unique names; data is as long as type and shape say.
void write_safetensors(const std::string& path,
                       std::span<const TensorView> tensors,
                       const SafetensorsMetadata& metadata = {});

}  // namespace chimera
