// Reads any bytes as a .safetensors file. Accepted tensors must tile the file's
// data, and be read back equal after they are written.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "chimera/files/safetensors.h"
#include "chimera/files/safetensors_write.h"

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

void use_sound(const chimera::SafetensorsHeader& header,
               std::span<const std::byte> data) {
  std::vector<chimera::TensorView> views;
  size_t at = 0;
  for (const chimera::TensorInfo& tensor : header.tensors) {
    must(tensor.begin == at && tensor.end >= at && tensor.end <= data.size());
    must(chimera::tensor_bytes(tensor.type, tensor.shape) ==
         tensor.end - tensor.begin);
    at = tensor.end;
    views.push_back(
        {.name = tensor.name,
         .type = tensor.type,
         .shape = tensor.shape,
         .data = data.subspan(tensor.begin, tensor.end - tensor.begin)});
  }
  must(at == data.size());
  static const std::string kPath =
      "/tmp/safetensors_fuzz." + std::to_string(getpid());
  chimera::write_safetensors(kPath, views, header.metadata);
  const auto file = chimera::SafetensorsFile::open(kPath);
  unlink(kPath.c_str());
  must(file.ok() && file->tensors().size() == views.size());
  must(file->metadata() == header.metadata);
  for (const chimera::TensorView& view : views) {
    const chimera::TensorInfo* info = file->find(view.name);
    must(info != nullptr && info->shape == view.shape);
    must(std::ranges::equal(file->data(*info), view.data));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = chimera::parse_safetensors_header(bytes, "fuzz");
  if (!header) {
    must(!header.errors().empty() && header.errors().size() <= 110);
    return 0;
  }
  use_sound(*header, bytes.subspan(header->data_begin));
  return 0;
}
