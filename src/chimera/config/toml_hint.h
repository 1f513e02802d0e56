// Hints for lines that are not TOML.
#pragma once

#include <string>
#include <string_view>

namespace chimera {

// Returns a hint for the line at which toml++ gave up; `reason` is the message
// of toml++.
[[nodiscard]] std::string toml_hint(std::string_view line,
                                    std::string_view reason);

}  // namespace chimera
