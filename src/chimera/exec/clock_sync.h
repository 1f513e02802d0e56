// Clock offsets between machines, for one trace of all ranks: steady clocks
// start at different moments and drift apart by microseconds per second, so all
// times are converted to rank 0's clock.
#pragma once

#include <functional>

#include "chimera/comm/transport.h"

namespace chimera {

struct ClockSyncOptions {
  Channel channel = Channel::kClockAtStart;
  std::uint64_t machine = 0;  // machine_id()
  std::function<Clock::time_point()> now = Clock::now;
};

// Returns how far this rank's clock is ahead of rank 0's, measured by a few
// round trips; the fastest counts, with an error of at most half its time.
// Exactly zero on rank 0's machine. All ranks call it at the same time.
[[nodiscard]] Clock::duration clock_offset(Transport& transport,
                                           const ClockSyncOptions& options);

}  // namespace chimera
