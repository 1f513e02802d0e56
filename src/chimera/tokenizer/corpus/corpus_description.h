// The description beside a corpus of token ids: corpus.bin has corpus.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chimera/base/result.h"

namespace chimera {

struct CorpusDescription {
  bool wide = false;  // true: uint32, false: uint16
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  std::int64_t vocab = 0;  // the tokenizer's largest id + 1
  std::optional<std::int64_t> end_of_document = std::nullopt;
  std::string tokenizer_hash = {};
  // Hash of the text, if the corpus is a cache of a text.
  std::string source_hash = {};

  bool operator==(const CorpusDescription&) const = default;
};

// The name of the description beside a corpus: corpus.bin -> corpus.json.
[[nodiscard]] std::string description_path(const std::string& corpus);

// The description as JSON.
[[nodiscard]] std::string print(const CorpusDescription& description);

// Reads the description beside `corpus`. Returns nullopt if there is none, or
// if the file of that name does not describe a corpus. Refuses a broken one.
[[nodiscard]] Result<std::optional<CorpusDescription>> read_description(
    const std::string& corpus);

}  // namespace chimera
