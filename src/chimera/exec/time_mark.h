// Times of work that a device does while the host runs ahead.
#pragma once

#include <memory>

#include "chimera/comm/transport.h"

namespace chimera {

// A place in the queue of a device.
class TimeMark {
 public:
  TimeMark() = default;
  TimeMark(const TimeMark&) = delete;
  TimeMark& operator=(const TimeMark&) = delete;
  virtual ~TimeMark() = default;

  // The time at which the device has passed the mark, by the host's clock.
  // Waits until it has.
  [[nodiscard]] virtual Clock::time_point time() = 0;
};
using TimeMarkPtr = std::shared_ptr<TimeMark>;

// Null marks: the host did the work itself.
struct MarkedSpan {
  TimeMarkPtr start;
  TimeMarkPtr end;
};

}  // namespace chimera
