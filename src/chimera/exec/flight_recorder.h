// The last actions of a worker, for reports about dead or stuck ranks. Any
// thread may read them.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <string>

#include "chimera/comm/transport.h"
#include "chimera/schedule/action.h"

namespace chimera {

// Thread-safe.
class FlightRecorder {
 public:
  // Records the start of an action, which also ends the previous one.
  void begin(const Action& action, int step);

  // Describes the recorded actions, one line each, oldest first, with the
  // seconds since their start. The last action is still running.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t kActions = 64;

  struct Entry {
    Action action;
    int step = 0;
    Clock::time_point begun;
  };

  mutable std::mutex mutex_;
  std::array<Entry, kActions> ring_;  // guarded by mutex_
  std::size_t num_begun_ = 0;         // guarded by mutex_
};

}  // namespace chimera
