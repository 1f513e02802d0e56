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

  // The time, by the host's clock, at which the device passed the mark. Waits
  // until then.
  [[nodiscard]] virtual Clock::time_point time() = 0;
};
using TimeMarkPtr = std::shared_ptr<TimeMark>;

// The marks around some work; null if the host did the work itself.
struct MarkedSpan {
  TimeMarkPtr start;
  TimeMarkPtr end;
};

}  // namespace chimera
