// What all ranks agree on once a step: every rank fills in its own part, the
// transport reduces them, and all ranks read the same result.
#pragma once

#include <limits>

namespace chimera {

struct Ballot {
  static constexpr double kNowhere = std::numeric_limits<double>::infinity();

  // Added up, in the fixed order of merge_all.
  double squared_norm = 0;  // of the gradient; each element counted by one rank
  double loss = 0;          // of the mini-batch
  double stop = 0;          // ranks that want this step to be the last
  double busy_s = 0;        // time in compute
  double save = 0;          // ranks that want a checkpoint before the end
  double written = 0;       // ranks that have written their part of the one
  double unwritten = 0;     // under way, or could not

  // The least one wins: where the loss first stopped being a number, as
  // encoded by whoever asks; kNowhere if it did not.
  double bad_at = kNowhere;

  bool operator==(const Ballot&) const = default;
};

// Whether the loss or the gradient is not a number.
[[nodiscard]] bool is_bad(const Ballot& ballot);

[[nodiscard]] Ballot merge(const Ballot& a, const Ballot& b);

}  // namespace chimera
