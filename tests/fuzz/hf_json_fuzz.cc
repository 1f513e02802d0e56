// Reads any bytes as config.json and as model.safetensors.index.json. What is
// accepted must be read back equal after it is written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "chimera/files/hf_config.h"
#include "chimera/files/hf_index.h"

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto shape = chimera::parse_hf_config(text, "fuzz")) {
    const auto again =
        chimera::parse_hf_config(chimera::hf_config_text(*shape), "again");
    must(again.ok() && *again == *shape);
  } else {
    must(shape.errors().size() <= 110);
  }
  if (const auto index = chimera::parse_hf_index(text, "fuzz")) {
    const auto again =
        chimera::parse_hf_index(chimera::hf_index_text(*index, 0), "again");
    must(again.ok() && *again == *index);
  } else {
    must(index.errors().size() <= 110);
  }
  return 0;
}
