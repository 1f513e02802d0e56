// A deadline for MPI calls that have none: ends the process when it has passed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "chimera/run/run.h"

namespace chimera {

class Watchdog {
 public:
  using Say = std::function<void(const std::string& text)>;

  // Ends the process with exit code 6 unless destroyed within `deadline`.
  // `say`, or else the observer, is told first what took too long.
  Watchdog(std::string what, std::chrono::duration<double> deadline,
           RunObserver& observer, Say say = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace chimera
