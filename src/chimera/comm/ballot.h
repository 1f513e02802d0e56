// The vote of a step: every rank fills in a ballot, the transport reduces all
// ballots to one, and all ranks read that result.
#pragma once

#include <limits>

namespace chimera {

struct Ballot {
  static constexpr double kNowhere = std::numeric_limits<double>::infinity();

  // Sums over all ranks, added in the order of sum_tree.h.
  double squared_norm = 0;  // of the gradient; each element counted by one rank
  double loss = 0;          // loss of the mini-batch
  double stop = 0;          // ranks that want this step to be the last
  double busy_s = 0;        // time spent in compute
  double save = 0;          // ranks that want a checkpoint before the end
  double written = 0;    // ranks that have written their part of a checkpoint
  double unwritten = 0;  // ranks that could not write their part

  // Minimum over all ranks: the place where a value first was not finite,
  // encoded by StageCompute; kNowhere if all were finite.
  double bad_at = kNowhere;

  bool operator==(const Ballot&) const = default;
};

// Whether the loss or the gradient is not a number.
[[nodiscard]] bool is_bad(const Ballot& ballot);

[[nodiscard]] Ballot merge(const Ballot& a, const Ballot& b);

}  // namespace chimera
