// Steady clocks of different machines count from different moments and drift
// apart by microseconds a second. For one trace of all ranks their times are
// brought to the clock of rank 0.
#pragma once

#include <functional>

#include "chimera/comm/transport.h"

namespace chimera {

struct ClockSyncOptions {
  int step = 0;               // keeps its messages apart
  std::uint64_t machine = 0;  // machine_id()
  std::function<Clock::time_point()> now = Clock::now;
};

// How much this rank's clock is ahead of rank 0's, from a few messages to and
// fro, of which the fastest is the most exact: off by half its time at most.
// Exactly zero on rank 0's own machine. All ranks call it at once.
[[nodiscard]] Clock::duration clock_offset(Transport& transport,
                                           const ClockSyncOptions& options);

}  // namespace chimera
