// Where a rank stands, packed into one number that its transport can publish,
// and told again in words.
#pragma once

#include <cstdint>
#include <string>

#include "chimera/exec/program.h"

namespace chimera {

struct Progress {
  static constexpr int kBetween = -1;

  int step = 0;
  // In its list, or kBetween steps; of an evaluation: the steps done before.
  int position = 0;
  bool training = true;
};

[[nodiscard]] std::uint64_t encode(const Progress& progress);

// Training steps before the one at hand, or before the evaluation.
[[nodiscard]] int steps_before(std::uint64_t progress);

// "step 5, forward of stage 1, micro-batch 3"; "after step 5"; "before the
// first step" for 0. Where the rank walks a longer list than the one in
// `schedule`: "step 5, action 70", counted from 0 as in errors of schedules.
[[nodiscard]] std::string describe_progress(const Schedule& schedule, int rank,
                                            std::uint64_t progress);

// "forward of stage 1, micro-batch 3".
[[nodiscard]] std::string describe(const Action& action);

// "worker 2", "worker 2 of copy 1".
[[nodiscard]] std::string describe_rank(const Schedule& schedule, int rank);

}  // namespace chimera
