#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "chimera/base/text.h"
#include "chimera/files/safetensors.h"

namespace chimera {
namespace {

constexpr size_t kLengthBytes = 8;
// The limit of Hugging Face's own reader.
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr size_t kMostDimensions = 64;

class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string file_name, size_t data_bytes)
      : json_(text, std::move(file_name), errors_, hf_json_codes()),
        data_bytes_(data_bytes) {}

  Result<SafetensorsHeader> run();

 private:
  void read_metadata();
  void read_tensor(const std::string& name);
  void read_type(const std::string& label, TensorInfo& tensor);
  void read_shape(const std::string& label, TensorInfo& tensor);
  void read_offsets(const std::string& label, TensorInfo& tensor);
  std::optional<std::int64_t> read_count(const std::string& name);
  void check_bytes(const std::string& label, const TensorInfo& tensor);
  void check_names();
  void check_tiling();

  Diagnostics errors_;
  JsonReader json_;
  size_t data_bytes_;
  SafetensorsHeader header_;
  bool has_metadata_ = false;
};

std::string label_of(std::string_view name) {
  return "tensor \"" + shown(name) + "\"";
}

void HeaderReader::read_metadata() {
  if (std::exchange(has_metadata_, true)) {
    json_.refuse("E523", "key \"__metadata__\"", "is there twice");
  }
  json_.object("__metadata__", [&](const std::string& key) {
    const auto value = json_.string("__metadata__." + shown(key));
    if (!value) return;
    if (!header_.metadata.emplace(key, *value).second) {
      json_.refuse("E523", "key \"__metadata__." + shown(key) + "\"",
                   "is there twice");
    }
  });
}

void HeaderReader::read_type(const std::string& label, TensorInfo& tensor) {
  const auto name = json_.string(label + " dtype");
  if (!name) return;
  if (const auto type = find_tensor_type(*name)) {
    tensor.type = *type;
  } else {
    json_.refuse("E531", label + " dtype = \"" + shown(*name) + "\"",
                 "must be F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL");
  }
}

std::optional<std::int64_t> HeaderReader::read_count(const std::string& name) {
  const std::optional<std::int64_t> value = json_.integer64(name);
  if (!value || *value >= 0) return value;
  json_.refuse("E522", fmt::format("{} = {}", name, *value),
               "must not be negative");
  return std::nullopt;
}

void HeaderReader::read_shape(const std::string& label, TensorInfo& tensor) {
  size_t count = 0;
  json_.array(label + " shape", [&] {
    const auto dimension = read_count(label + " dimension");
    if (dimension && ++count <= kMostDimensions) {
      tensor.shape.push_back(*dimension);
    }
  });
  if (count > kMostDimensions) {
    json_.refuse("E532", fmt::format("{} has {} dimensions", label, count),
                 fmt::format("must have at most {}", kMostDimensions));
  }
}

void HeaderReader::read_offsets(const std::string& label, TensorInfo& tensor) {
  std::array<std::int64_t, 2> offsets{};
  size_t count = 0;
  json_.array(label + " data_offsets", [&] {
    const auto offset = read_count(label + " offset");
    if (offset && count < offsets.size()) offsets[count] = *offset;
    ++count;
  });
  if (count != offsets.size() && !json_.failed()) {
    json_.refuse("E532", fmt::format("{} has {} data_offsets", label, count),
                 "must have two, begin and end");
  }
  tensor.begin = static_cast<size_t>(offsets[0]);
  tensor.end = static_cast<size_t>(offsets[1]);
}

void HeaderReader::read_tensor(const std::string& name) {
  const std::string label = label_of(name);
  const size_t errors_before = errors_.size();
  TensorInfo tensor{.name = name};
  std::array<int, 3> seen{};
  json_.object(label, [&](const std::string& key) {
    if (key == "dtype" && seen[0]++ == 0) {
      read_type(label, tensor);
    } else if (key == "shape" && seen[1]++ == 0) {
      read_shape(label, tensor);
    } else if (key == "data_offsets" && seen[2]++ == 0) {
      read_offsets(label, tensor);
    } else {
      json_.refuse("E523", label + " key \"" + shown(key) + "\"",
                   "is not known, or there twice");
      json_.skip();
    }
  });
  if (json_.failed() || errors_.size() > errors_before) return;
  if (seen != std::array{1, 1, 1}) {
    json_.refuse("E524", label, "must have dtype, shape and data_offsets");
    return;
  }
  check_bytes(label, tensor);
  header_.tensors.push_back(std::move(tensor));
}

void HeaderReader::check_bytes(const std::string& label,
                               const TensorInfo& tensor) {
  if (tensor.begin > tensor.end || tensor.end > data_bytes_) {
    json_.refuse(
        "E532",
        fmt::format("{} data_offsets = [{}, {}]", label, tensor.begin,
                    tensor.end),
        fmt::format("must ascend within the {} bytes of data", data_bytes_),
        "the file may be cut short: fetch it again");
    return;
  }
  const auto bytes = tensor_bytes(tensor.type, tensor.shape);
  if (bytes == tensor.end - tensor.begin) return;
  json_.refuse("E532",
               fmt::format("{} has {} bytes", label, tensor.end - tensor.begin),
               fmt::format("must have {} for {} {}",
                           bytes ? std::to_string(*bytes) : "2^64 or more",
                           type_name(tensor.type), shape_text(tensor.shape)));
}

void HeaderReader::check_names() {
  std::vector<std::string_view> names;
  for (const TensorInfo& tensor : header_.tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    json_.refuse_file("E523", label_of(*twice), "is there twice");
  }
}

// Sorts the tensors by offset, empty ones first, and reports the first that
// does not start where the one before it ends.
void HeaderReader::check_tiling() {
  std::sort(header_.tensors.begin(), header_.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
            });
  size_t at = 0;
  for (const TensorInfo& tensor : header_.tensors) {
    if (tensor.begin != at) {
      json_.refuse_file(
          "E533",
          fmt::format("{} begins at {}", label_of(tensor.name), tensor.begin),
          fmt::format("must begin at {}, where the data before it ends", at));
      return;
    }
    at = tensor.end;
  }
  if (at != data_bytes_) {
    json_.refuse_file("E533", fmt::format("{} bytes of data", data_bytes_),
                      fmt::format("must be the {} bytes of the tensors", at));
  }
}

Result<SafetensorsHeader> HeaderReader::run() {
  json_.object("the header", [&](const std::string& key) {
    if (key == "__metadata__") {
      read_metadata();
    } else {
      read_tensor(key);
    }
  });
  json_.finish();
  if (errors_.empty()) check_names();
  if (errors_.empty()) check_tiling();
  if (!errors_.empty()) return errors_;
  return std::move(header_);
}

Diagnostic broken(const std::string& file_name, std::string found,
                  std::string needed) {
  return {.kind = DiagnosticKind::kData,
          .code = "E530",
          .where = file_name,
          .found = std::move(found),
          .needed = std::move(needed),
          .hint = "it is cut short, or not a safetensors file"};
}

}  // namespace

JsonCodes hf_json_codes() {
  return {.syntax = "E520",
          .type = "E521",
          .range = "E522",
          .key = "E523",
          .kind = DiagnosticKind::kData};
}

Result<SafetensorsHeader> parse_safetensors_header(
    std::span<const std::byte> bytes, const std::string& file_name) {
  if (bytes.size() < kLengthBytes) {
    return broken(file_name, fmt::format("{} bytes", bytes.size()),
                  "must be at least 8, the length of the header");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  const size_t rest = bytes.size() - kLengthBytes;
  if (length > kLongestHeader || length > rest) {
    return broken(
        file_name, fmt::format("header length = {}", length),
        fmt::format("must be at most {}", std::min(kLongestHeader, rest)));
  }
  const std::string_view text(
      reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  if (!text.starts_with('{')) {
    return broken(file_name, "header \"" + shown(text.substr(0, 12)) + "\"",
                  "must begin with {");
  }
  auto header = HeaderReader(text, file_name, rest - length).run();
  if (!header) return header;
  SafetensorsHeader whole = std::move(header).value();
  whole.data_begin = kLengthBytes + length;
  return whole;
}

}  // namespace chimera
