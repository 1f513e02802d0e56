// The description beside a corpus of token ids: corpus.bin has corpus.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chimera/base/result.h"

namespace chimera {

struct CorpusDescription {
  bool wide = false;  // uint32, else uint16
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  std::int64_t vocab = 0;  // the tokenizer's largest id + 1
  std::optional<std::int64_t> end_of_document = std::nullopt;
  std::string tokenizer_hash = {};
  std::string source_hash = {};  // of a cache: the text that it was made from

  bool operator==(const CorpusDescription&) const = default;
};

// The name of the description beside a corpus: corpus.bin -> corpus.json.
[[nodiscard]] std::string description_path(const std::string& corpus);

// As JSON.
[[nodiscard]] std::string print(const CorpusDescription& description);

// The description beside `corpus`. Nothing if there is none, or if the file of
// its name is no description of a corpus. Refuses a broken one.
[[nodiscard]] Result<std::optional<CorpusDescription>> read_description(
    const std::string& corpus);

}  // namespace chimera
