// Hints for lines that are not TOML.
#pragma once

#include <string>
#include <string_view>

namespace chimera {

// `line` is where toml++ gave up, `reason` is its message.
[[nodiscard]] std::string toml_hint(std::string_view line,
                                    std::string_view reason);

}  // namespace chimera
