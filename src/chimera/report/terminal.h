// Colours in a terminal.
#pragma once

#include <string>
#include <string_view>

#include "chimera/report/palette.h"

namespace chimera {

// `text` on its paint. Both colours are set, so that it can be read on light
// and on dark terminals.
[[nodiscard]] std::string painted(std::string_view text, const Paint& paint);

// `text` in a grey that stands back on light and on dark terminals.
[[nodiscard]] std::string dimmed(std::string_view text);

}  // namespace chimera
