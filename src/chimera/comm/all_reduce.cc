#include "chimera/comm/all_reduce.h"

#include <bit>

namespace chimera {

std::vector<AllReduceRound> all_reduce_rounds(int member, int members,
                                              const Range& all) {
  // Members beyond a power of two hand all their numbers to a neighbour first,
  // and get the whole sum from it last.
  const int leaves =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
  const int folded = members - leaves;
  std::vector<AllReduceRound> rounds;
  if (member < 2 * folded && member % 2 == 1) {
    rounds.push_back({.peer = member - 1, .send = all});
    rounds.push_back({.peer = member - 1, .receive = all});
    return rounds;
  }
  if (member < 2 * folded) {
    rounds.push_back({.peer = member + 1, .receive = all, .adds = true});
  }
  const int leaf = member < 2 * folded ? member / 2 : member - folded;
  const auto member_of = [folded](int of) {
    return of < folded ? 2 * of : of + folded;
  };
  const std::size_t first_halving = rounds.size();
  Range mine = all;
  for (int stride = 1; stride < leaves; stride *= 2) {
    // Each of two neighbours sums one half of their range.
    const std::size_t middle = mine.begin + mine.size() / 2;
    Range keeps{mine.begin, middle};
    Range gives{middle, mine.end};
    if ((leaf & stride) != 0) std::swap(keeps, gives);
    rounds.push_back({.peer = member_of(leaf ^ stride),
                      .send = gives,
                      .receive = keeps,
                      .adds = true});
    mine = keeps;
  }
  // Doubling: the rounds in reverse bring the summed ranges back.
  for (std::size_t round = rounds.size(); round-- > first_halving;) {
    const AllReduceRound halving = rounds[round];
    rounds.push_back({.peer = halving.peer,
                      .send = halving.receive,
                      .receive = halving.send});
  }
  if (member < 2 * folded) {
    rounds.push_back({.peer = member + 1, .send = all});
  }
  return rounds;
}

}  // namespace chimera
