// Where a long document may be cut into pieces that are encoded apart.
#pragma once

#include <cstddef>
#include <string_view>

namespace chimera {

// The last place at which `text` may be cut: for every pattern the words of the
// two parts are those of the whole, whatever follows it. 0 if there is none.
// `text` may hold any bytes, and end inside a character.
[[nodiscard]] size_t last_cut_of(std::string_view text);

}  // namespace chimera
