// The one order in which numbers of several ranks are added: recursive halving
// and doubling in rank order, as a tree that is the same for every element.
// With r ranks and p the largest power of two not above r, the first 2(r-p)
// ranks are folded in pairs, then neighbours are joined level by level:
//   r = 6: ((x0+x1) + (x2+x3)) + (x4+x5)
// Addition commutes, so it does not matter which of two ranks adds: every
// transport that follows this tree gives the same bits.
#pragma once

#include <bit>
#include <cstddef>

namespace chimera {

// Calls join(into, from) for every addition of the tree over ranks 0 .. r-1;
// the result is then at rank 0. REQUIRES: ranks > 0.
template <class Join>
void for_each_join(int ranks, const Join& join) {
  const int leaves =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const int folded = ranks - leaves;
  for (int pair = 0; pair < folded; ++pair) join(2 * pair, 2 * pair + 1);
  const auto rank_of = [folded](int leaf) {
    return leaf < folded ? 2 * leaf : leaf + folded;
  };
  for (int stride = 1; stride < leaves; stride *= 2) {
    for (int leaf = 0; leaf < leaves; leaf += 2 * stride) {
      join(rank_of(leaf), rank_of(leaf + stride));
    }
  }
}

}  // namespace chimera
