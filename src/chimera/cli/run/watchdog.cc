#include "chimera/cli/run/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "chimera/cli/exit_codes.h"

namespace chimera {

Watchdog::Watchdog(std::string what, std::chrono::duration<double> deadline)
    : thread_([this, what = std::move(what), deadline] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, deadline, [this] { return is_done_; })) {
          return;
        }
        std::cerr << fmt::format(
            "error: {} took longer than run.timeout_s = {} s: is a rank or "
            "its host missing?\n",
            what, deadline.count());
        _exit(kExitTimeout);
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace chimera
