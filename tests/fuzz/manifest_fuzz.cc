// Reads any bytes as a checkpoint's manifest.json. What is accepted must be
// read back equal after it is written. The hash at the end is corrected first;
// otherwise only the hash check would be fuzzed.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "chimera/checkpoint/manifest.h"

namespace {

std::string with_sound_hash(const std::string& text) {
  const std::string hash =
      chimera::content_hash(std::as_bytes(std::span(text)));
  return text + ",\n\"hash\":\"" + hash + "\"}\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)chimera::parse_manifest(text, "manifest.json");
  const auto parsed =
      chimera::parse_manifest(with_sound_hash(text), "manifest.json");
  if (!parsed) return 0;
  (void)chimera::check_complete(*parsed, "manifest.json");
  const auto again = chimera::parse_manifest(to_json(*parsed), "again");
  if (!again || !(*again == *parsed)) std::abort();
  return 0;
}
