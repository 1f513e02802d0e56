// Finds places where a long document can be cut into pieces that are encoded
// independently.
#pragma once

#include <cstddef>
#include <string_view>

namespace chimera {

// Returns the last place at which `text` can be cut: for every pattern, the
// words of the two parts equal those of the whole, whatever follows `text`. 0
// if there is none. `text` may hold any bytes and end inside a character.
[[nodiscard]] size_t last_cut_of(std::string_view text);

}  // namespace chimera
