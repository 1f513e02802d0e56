// ANSI colours for a terminal.
#pragma once

#include <string>
#include <string_view>

#include "chimera/report/palette.h"

namespace chimera {

// `text` in the colours of `paint`. Both foreground and background are set, so
// it is readable on light and on dark terminals.
[[nodiscard]] std::string painted(std::string_view text, const Paint& paint);

// `text` in a grey that is unobtrusive on light and on dark terminals.
[[nodiscard]] std::string dimmed(std::string_view text);

}  // namespace chimera
