// One .safetensors file, read by mapping it into memory. Files are untrusted:
// every claim of a header is checked against the bytes of the file before it is
// used, and nothing is allocated by a claimed size.
//
//   file   = length header data
//   length = u64, little endian: bytes of the header, at most 100,000,000
//   header = JSON object that starts with "{", padded with blanks
//            "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
//            "__metadata__": {"format": "pt"}     optional, strings only
//   data   = the tensors, row-major, without gaps or overlaps; offsets count
//            from the start of data and need not be aligned
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/json_reader.h"
#include "chimera/base/result.h"

namespace chimera {

enum class TensorType {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool
};

// The name in a header: "F32".
[[nodiscard]] std::string_view type_name(TensorType type);
[[nodiscard]] size_t type_bytes(TensorType type);
[[nodiscard]] bool is_floating(TensorType type);
[[nodiscard]] std::optional<TensorType> find_tensor_type(std::string_view name);

// Number of bytes of a tensor; nullopt if it exceeds size_t. REQUIRES: no
// dimension is negative.
[[nodiscard]] std::optional<size_t> tensor_bytes(
    TensorType type, std::span<const std::int64_t> shape);

// A shape in messages and headers: "[2, 3]".
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::int64_t> shape;
  size_t begin = 0;  // byte offset within the file's data
  size_t end = 0;

  bool operator==(const TensorInfo&) const = default;
};

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their data
  SafetensorsMetadata metadata;
  size_t data_begin = 0;  // byte offset within the file
};

// Parses the header of `bytes`, which hold the whole file. `file_name` is used
// in messages.
// ENSURES: names are unique and [begin, end) of the tensors tile the data.
[[nodiscard]] Result<SafetensorsHeader> parse_safetensors_header(
    std::span<const std::byte> bytes, const std::string& file_name);

// Error codes for JSON in a Hugging Face directory.
[[nodiscard]] JsonCodes hf_json_codes();

// A file that stays mapped for the lifetime of the object. The file must not be
// truncated meanwhile: reading a missing page ends the process (SIGBUS).
class SafetensorsFile {
 public:
  [[nodiscard]] static Result<SafetensorsFile> open(const std::string& path);
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&& other) noexcept;
  ~SafetensorsFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const {
    return header_.tensors;
  }
  [[nodiscard]] const SafetensorsMetadata& metadata() const {
    return header_.metadata;
  }
  // The tensor of that name; nullptr if there is none.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;

  // The bytes of a tensor in the mapped file, possibly unaligned. REQUIRES:
  // `info` is one of tensors().
  [[nodiscard]] std::span<const std::byte> data(const TensorInfo& info) const;

  // The bytes before the first tensor's data: length and header.
  [[nodiscard]] std::span<const std::byte> head() const {
    return bytes_.first(header_.data_begin);
  }

  // Copies a floating-point tensor into `out`, converted to float. REQUIRES:
  // is_floating(info.type), and `out` has as many elements.
  void copy_as_float(const TensorInfo& info, std::span<float> out) const;
  void copy_as_double(const TensorInfo& info, std::span<double> out) const;

 private:
  SafetensorsFile(std::string path, std::span<const std::byte> bytes);

  std::string path_;
  std::span<const std::byte> bytes_;  // mapped; empty: nothing to unmap
  SafetensorsHeader header_;
  std::vector<size_t> by_name_;  // indices of tensors(), sorted by name
};

}  // namespace chimera
