// Converts the four floating-point types of a file to float32 or float64. Data
// may be unaligned, so every element is read with memcpy, which compiles to a
// plain load.
#include <bit>
#include <cstring>

#include "chimera/files/safetensors.h"

namespace chimera {
namespace {

// IEEE 754 binary16 to float, exact for every value.
float from_half(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {  // zero and subnormal: fraction / 2^24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? value : -value;
  }
  const std::uint32_t biased = exponent == 0x1f ? 0xffU : exponent + 127 - 15;
  return std::bit_cast<float>(sign | biased << 23 | fraction << 13);
}

// bfloat16 to float: its bits are the upper half of the float's.
float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

template <class Stored, class Out, class Convert>
void convert_all(std::span<const std::byte> data, std::span<Out> out,
                 const Convert& convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, data.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<Out>(convert(value));
  }
}

template <class Out>
void copy_as(TensorType type, std::span<const std::byte> data,
             std::span<Out> out) {
  CHIMERA_CHECK(is_floating(type), "integers are not weights");
  CHIMERA_CHECK_EQ(data.size(), out.size() * type_bytes(type));
  const auto same = [](auto value) { return value; };
  if (type == TensorType::kF64) convert_all<double>(data, out, same);
  if (type == TensorType::kF32) convert_all<float>(data, out, same);
  if (type == TensorType::kF16)
    convert_all<std::uint16_t>(data, out, from_half);
  if (type == TensorType::kBF16) {
    convert_all<std::uint16_t>(data, out, from_bfloat);
  }
}

}  // namespace

void SafetensorsFile::copy_as_float(const TensorInfo& info,
                                    std::span<float> out) const {
  copy_as(info.type, data(info), out);
}

void SafetensorsFile::copy_as_double(const TensorInfo& info,
                                     std::span<double> out) const {
  copy_as(info.type, data(info), out);
}

}  // namespace chimera
