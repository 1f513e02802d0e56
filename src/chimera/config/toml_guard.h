// Refuses texts that would crash toml++ 3.3:
// - Keys with thousands of dotted parts. toml++ limits how deep lists nest, but
//   not tables, and frees them recursively: a key of 30,000 parts overflows the
//   stack.
// - Characters other than ASCII outside of plain quotes: undefined behaviour
//   when toml++ checks whether they are blanks. (They are found by the quotes
//   alone, so a malformed value may still hide one; the compiled library
//   tolerates it.)
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chimera/base/result.h"

namespace chimera {

// Returns E002 if `text` is too large or too deep, E001 for the other cases,
// and nothing if toml++ can read it safely. Linear in the text.
[[nodiscard]] std::optional<Diagnostic> refuse_unsafe_toml(
    std::string_view text, const std::string& file_name);

}  // namespace chimera
