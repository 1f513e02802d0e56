// The parts of a tokenizer.json that have a "type": normalizer, pre_tokenizer
// and decoder.
#pragma once

#include <optional>

#include "chimera/base/json_reader.h"
#include "chimera/tokenizer/tokenizer_spec.h"

namespace chimera {

// How text is split into words.
struct PreTokenizer {
  std::optional<SplitPattern> pattern;  // if empty, BERT's words
  bool add_prefix_space = false;
};

// Each function reads one value, which may be null. Unsupported values are
// added to the reader's errors.
[[nodiscard]] Normalizer read_normalizer(JsonReader& reader);
[[nodiscard]] std::optional<PreTokenizer> read_pre_tokenizer(
    JsonReader& reader);

struct Decoder {
  std::string type = {};  // empty: there is none
  bool cleanup = true;
};
[[nodiscard]] Decoder read_decoder(JsonReader& reader);

// Adds the error that `what` is not supported.
void refuse_unsupported(JsonReader& reader, const std::string& what,
                        const std::string& hint);

}  // namespace chimera
