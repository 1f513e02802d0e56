// A deadline for calls into MPI that cannot be given one: what takes longer
// ends the process.
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

  // Exit code 6 unless destroyed in time. What took too long is said before, by
  // `say` or as an error to the observer.
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
