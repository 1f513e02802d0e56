// Writing .safetensors files, whole or not at all, without a second copy of
// the tensors in memory. safetensors.h has the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chimera/model/safetensors.h"

namespace chimera {

// A tensor in memory that belongs to somebody else. Row-major, little endian.
struct TensorView {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

enum class Durable { kNo, kYes };  // against a crash of the machine

// Data is laid out by falling element size, so that every tensor is aligned,
// and else in the order given. Throws IoError.
// REQUIRES: unique names; data is as long as type and shape say.
void write_safetensors(const std::string& path,
                       std::span<const TensorView> tensors,
                       const SafetensorsMetadata& metadata = {},
                       Durable durable = Durable::kNo);

}  // namespace chimera
