// Reads any bytes as Megatron's index of a corpus, and as blank-separated text.
// What is accepted ascends and never takes more memory than the bytes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "chimera/tokenizer/corpus/blank_lines.h"
#include "chimera/tokenizer/corpus/megatron_index.h"

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

void use_index(std::string_view bytes) {
  const auto index = chimera::parse_megatron_index(bytes, "fuzz");
  if (!index) {
    must(index.errors().size() == 1 && index.errors()[0].code == "E516");
    return;
  }
  must(index->document_ends.size() * 8 <= bytes.size());
  std::int64_t last = 0;
  for (const std::int64_t end : index->document_ends) {
    must(end >= last && end <= index->tokens);
    last = end;
  }
}

void use_text(std::string_view text) {
  const char* last = text.data();
  for (const std::string_view document : chimera::split_at_blanks(text)) {
    must(!document.empty() && document.data() >= last);
    last = document.data() + document.size();
  }
  must(last <= text.data() + text.size());
  must(chimera::last_document_end(text) <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  use_index(bytes);
  use_text(bytes);
  return 0;
}
