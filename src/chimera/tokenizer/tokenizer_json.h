// Hugging Face's tokenizer.json: byte-level BPE and WordPiece. What the file
// asks for and this program does not do is refused by name. truncation, padding
// and post_processor are passed over, as nothing is cut off or put around text.
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/json_reader.h"
#include "chimera/base/result.h"
#include "chimera/tokenizer/tokenizer_spec.h"

namespace chimera {

// The codes of broken JSON in any file of a tokenizer.
[[nodiscard]] JsonCodes tokenizer_json_codes();

[[nodiscard]] Result<TokenizerSpec> parse_tokenizer_json(
    std::string_view text, const std::string& file);

// One of "added_tokens", or of added_tokens_decoder, whose key is the id.
[[nodiscard]] AddedToken read_added_token(JsonReader& reader);

// {"token": id, ...}
[[nodiscard]] Vocabulary read_vocabulary(JsonReader& reader);

}  // namespace chimera
