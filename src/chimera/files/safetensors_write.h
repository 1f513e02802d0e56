// Writes .safetensors files, whole or not at all, without a second copy of the
// tensors in memory. safetensors.h describes the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "chimera/files/safetensors.h"

namespace chimera {

// A tensor whose data the caller owns: row-major, little endian.
struct TensorView {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data = {};
  // Returns the data of a tensor that is not in memory, valid until the next
  // call for any tensor; may be called several times. Empty: the data is in
  // `data`.
  std::function<std::span<const std::byte>()> load = {};

  // Bytes of the data, from type and shape.
  [[nodiscard]] size_t bytes() const;
};

// Writes a file. Data is ordered by decreasing element size, so that every
// tensor is aligned, and otherwise as given. Once the directory is synced, the
// file survives a crash of the machine. Throws IoError.
// REQUIRES: names are unique; data has the size that type and shape give.
void write_safetensors(const std::string& path,
                       std::span<const TensorView> tensors,
                       const SafetensorsMetadata& metadata = {});

}  // namespace chimera
