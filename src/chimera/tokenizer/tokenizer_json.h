// Reads Hugging Face's tokenizer.json: byte-level BPE and WordPiece.
// Unsupported features are refused by name. truncation, padding and
// post_processor are ignored, because text is neither truncated nor wrapped.
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/json_reader.h"
#include "chimera/base/result.h"
#include "chimera/tokenizer/tokenizer_spec.h"

namespace chimera {

// Error codes for invalid JSON in any tokenizer file.
[[nodiscard]] JsonCodes tokenizer_json_codes();

[[nodiscard]] Result<TokenizerSpec> parse_tokenizer_json(
    std::string_view text, const std::string& file);

// Reads an entry of "added_tokens", or of added_tokens_decoder, whose key is
// the id.
[[nodiscard]] AddedToken read_added_token(JsonReader& reader);

// Reads {"token": id, ...}.
[[nodiscard]] Vocabulary read_vocabulary(JsonReader& reader);

}  // namespace chimera
