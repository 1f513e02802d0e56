// Keeps from toml++ 3.3 what it would not survive:
// - keys of thousands of dotted parts. It limits how deep lists nest, but not
//   tables, and frees them recursively: a key of 30,000 parts, and the stack is
//   full.
// - other characters than ASCII outside of plain quotes: undefined behaviour
//   when it asks itself whether they are blanks. (Found by its quotes alone, so
//   a malformed value may still hide one; the compiled library shrugs it off.)
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chimera/base/result.h"

namespace chimera {

// E002 if `text` is too large or too deep, E001 for the rest; absent if toml++
// may have it. Linear in the text.
[[nodiscard]] std::optional<Diagnostic> refuse_unsafe_toml(
    std::string_view text, const std::string& file_name);

}  // namespace chimera
