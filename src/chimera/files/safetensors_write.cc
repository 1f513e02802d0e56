#include "chimera/files/safetensors_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "chimera/base/files.h"
#include "chimera/base/text.h"

namespace chimera {
namespace {

std::vector<const TensorView*> in_file_order(
    std::span<const TensorView> tensors) {
  std::vector<const TensorView*> order;
  std::set<std::string_view> names = {"__metadata__"};
  for (const TensorView& tensor : tensors) {
    CHIMERA_CHECK(names.insert(tensor.name).second,
                  "two tensors have the name " + tensor.name);
    CHIMERA_CHECK(tensor.load || tensor.data.size() == tensor.bytes(),
                  tensor.name + " has other data than its shape");
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const TensorView* a, const TensorView* b) {
                     return type_bytes(a->type) > type_bytes(b->type);
                   });
  return order;
}

std::string metadata_text(const SafetensorsMetadata& metadata) {
  std::vector<std::string> members;
  for (const auto& [key, value] : metadata) {
    members.push_back(json_string(key) + ":" + json_string(value));
  }
  return "\"__metadata__\":{" + join(members, ",") + "}";
}

std::string header_text(const std::vector<const TensorView*>& tensors,
                        const SafetensorsMetadata& metadata) {
  std::vector<std::string> members;
  if (!metadata.empty()) members.push_back(metadata_text(metadata));
  size_t at = 0;
  for (const TensorView* tensor : tensors) {
    const size_t end = at + tensor->bytes();
    members.push_back(
        fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},"
                    "\"data_offsets\":[{},{}]}}",
                    json_string(tensor->name), type_name(tensor->type),
                    shape_text(tensor->shape), at, end));
    at = end;
  }
  std::string text = "{" + join(members, ",") + "}";
  constexpr size_t kAlignment = 8;
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_data(const TensorView& tensor, WholeFile& file) {
  const std::span<const std::byte> data =
      tensor.load ? tensor.load() : tensor.data;
  CHIMERA_CHECK_EQ(data.size(), tensor.bytes());
  file.write(text_of(data));
}

}  // namespace

size_t TensorView::bytes() const { return tensor_bytes(type, shape).value(); }

void write_safetensors(const std::string& path,
                       std::span<const TensorView> tensors,
                       const SafetensorsMetadata& metadata) {
  const std::vector<const TensorView*> order = in_file_order(tensors);
  const std::string header = header_text(order, metadata);
  const auto length = std::uint64_t{header.size()};
  WholeFile file(path);
  file.write(text_of(std::as_bytes(std::span(&length, 1))));
  file.write(header);
  for (const TensorView* tensor : order) write_data(*tensor, file);
  file.sync();
  file.finish();
}

}  // namespace chimera
