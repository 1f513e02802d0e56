// How text is cut into words before byte pairs are merged: the regular
// expressions of GPT-2, Llama 3 and Qwen, as scanners over character classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chimera {

enum class SplitPattern : std::uint8_t { kGpt2, kLlama3, kQwen };

// The pattern that a tokenizer.json gives, told by its exact text; nullopt if
// it is another one.
[[nodiscard]] std::optional<SplitPattern> known_pattern(std::string_view regex);

// Where the word that starts at text[at] ends. REQUIRES: sound UTF-8,
// at < text.size(). ENSURES: the result is above `at`.
[[nodiscard]] size_t word_end(SplitPattern pattern, std::string_view text,
                              size_t at);

}  // namespace chimera
