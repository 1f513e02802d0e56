// From text to a Draft: which known keys were given, in the file and by --set,
// and each value stored. Names nobody knows are reported here (E003 to E006).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chimera/config/draft.h"

namespace chimera {

[[nodiscard]] Draft gather(std::string_view text, const std::string& file_name,
                           const std::vector<std::string>& overrides);

}  // namespace chimera
