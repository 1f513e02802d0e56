// The last actions of a worker, for when it is found dead or stuck: who reads
// them need not be the worker itself.
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
  // The worker begins an action, and has ended the one before.
  void begin(const Action& action, int step);

  // One line an action, oldest first, with the seconds since it began; the
  // last one is under way.
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
