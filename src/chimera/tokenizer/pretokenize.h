// Splits text into words before byte pairs are merged: the regular expressions
// of GPT-2, Llama 3 and Qwen, as scanners over character classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chimera {

enum class SplitPattern : std::uint8_t { kGpt2, kLlama3, kQwen };

// Recognises a pattern of a tokenizer.json by its exact text; nullopt if it is
// not known.
[[nodiscard]] std::optional<SplitPattern> known_pattern(std::string_view regex);

// End of the word that starts at text[at]. REQUIRES: valid UTF-8, at <
// text.size(). ENSURES: the result is greater than `at`.
[[nodiscard]] size_t word_end(SplitPattern pattern, std::string_view text,
                              size_t at);

}  // namespace chimera
