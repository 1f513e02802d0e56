// Turns text into a Draft: finds the known keys in the file and in --set, and
// stores each value. Unknown names are reported here (E003 to E006).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chimera/config/draft.h"

namespace chimera {

[[nodiscard]] Draft gather(std::string_view text, const std::string& file_name,
                           const std::vector<std::string>& overrides);

}  // namespace chimera
