#include "chimera/exec/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "chimera/exec/progress.h"

namespace chimera {

void FlightRecorder::begin(const Action& action, int step) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  ring_[num_begun_++ % kActions] = {action, step, now};
}

std::string FlightRecorder::text() const {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  std::string text;
  const std::size_t kept = std::min(num_begun_, kActions);
  for (std::size_t i = num_begun_ - kept; i < num_begun_; ++i) {
    const Entry& entry = ring_[i % kActions];
    const std::chrono::duration<double> age = now - entry.begun;
    text += fmt::format("{:12.6f} s ago: step {}, {}\n", age.count(),
                        entry.step + 1, describe(entry.action));
  }
  return text +
         (kept == 0 ? "nothing was begun\n" : "the last one is under way\n");
}

}  // namespace chimera
