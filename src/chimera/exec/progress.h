// A rank's progress, packed into one number for its transport, and described in
// words.
#pragma once

#include <cstdint>
#include <string>

#include "chimera/exec/program.h"

namespace chimera {

struct Progress {
  static constexpr int kBetween = -1;

  int step = 0;
  // Position in the list, or kBetween steps. In an evaluation: the training
  // steps done before.
  int position = 0;
  bool training = true;
};

[[nodiscard]] std::uint64_t encode(const Progress& progress);

// Number of training steps completed.
[[nodiscard]] int steps_before(std::uint64_t progress);

// Returns "step 5, forward of stage 1, micro-batch 3", "after step 5", or
// "before the first step" for 0. If the position is beyond the list in
// `schedule`: "step 5, action 70", counted from 0 as in errors of schedules.
[[nodiscard]] std::string describe_progress(const Schedule& schedule, int rank,
                                            std::uint64_t progress);

// Returns "forward of stage 1, micro-batch 3".
[[nodiscard]] std::string describe(const Action& action);

// Returns "worker 2" or "worker 2 of copy 1".
[[nodiscard]] std::string describe_rank(const Schedule& schedule, int rank);

}  // namespace chimera
