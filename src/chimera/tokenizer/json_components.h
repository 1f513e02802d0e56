// The parts of a tokenizer.json that have a "type": normalizer, pre_tokenizer
// and decoder.
#pragma once

#include <optional>

#include "chimera/base/json_reader.h"
#include "chimera/tokenizer/tokenizer_spec.h"

namespace chimera {

// How text is cut into words.
struct PreTokenizer {
  std::optional<SplitPattern> pattern;  // none: BERT's words
  bool add_prefix_space = false;
};

// Each reads one value, null included; what cannot be done is refused in the
// reader's errors.
[[nodiscard]] Normalizer read_normalizer(JsonReader& reader);
[[nodiscard]] std::optional<PreTokenizer> read_pre_tokenizer(
    JsonReader& reader);

struct Decoder {
  std::string type = {};  // empty: none
  bool cleanup = true;
};
[[nodiscard]] Decoder read_decoder(JsonReader& reader);

// Refuses something that the file asks for: `what` is not supported.
void refuse_unsupported(JsonReader& reader, const std::string& what,
                        const std::string& hint);

}  // namespace chimera
