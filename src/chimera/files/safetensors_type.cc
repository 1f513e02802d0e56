#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chimera/files/safetensors.h"

namespace chimera {
namespace {

struct TypeRow {
  std::string_view name;
  size_t bytes;
};

// One row for each TensorType, in that order.
constexpr auto kTypes = std::to_array<TypeRow>({{"F64", 8},
                                                {"F32", 4},
                                                {"F16", 2},
                                                {"BF16", 2},
                                                {"I64", 8},
                                                {"I32", 4},
                                                {"I16", 2},
                                                {"I8", 1},
                                                {"U8", 1},
                                                {"BOOL", 1}});

}  // namespace

std::string_view type_name(TensorType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

size_t type_bytes(TensorType type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}

bool is_floating(TensorType type) { return type <= TensorType::kBF16; }

std::optional<TensorType> find_tensor_type(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<TensorType>(i);
  }
  return std::nullopt;
}

std::optional<size_t> tensor_bytes(TensorType type,
                                   std::span<const std::int64_t> shape) {
  size_t bytes = type_bytes(type);
  for (const std::int64_t dimension : shape) {
    // A zero dimension makes the tensor empty even if the others overflow.
    if (dimension == 0) return 0;
  }
  for (const std::int64_t dimension : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(dimension), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace chimera
