// The rounds of one member of an all-reduce: exchanges with one peer each, by
// Rabenseifner's algorithm. Members beyond a power of two are folded into their
// neighbours; then ranges are halved from neighbour to neighbour until each
// member holds one range of the sum, and doubled back. Every element is added
// by the tree of sum_tree.h.
#pragma once

#include <cstddef>
#include <vector>

namespace chimera {

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

struct AllReduceRound {
  int peer = 0;  // a member
  Range send;    // send or receive may be empty
  Range receive;
  bool adds = false;  // true: received numbers are added; false: they replace

  bool operator==(const AllReduceRound&) const = default;
};

// Returns the rounds of `member` for the elements of `all`, in order. REQUIRES:
// 0 <= member < members.
[[nodiscard]] std::vector<AllReduceRound> all_reduce_rounds(int member,
                                                            int members,
                                                            const Range& all);

}  // namespace chimera
