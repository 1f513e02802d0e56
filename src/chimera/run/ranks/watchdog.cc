#include "chimera/run/ranks/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include "chimera/base/exit_codes.h"

namespace chimera {

Watchdog::Watchdog(std::string what, std::chrono::duration<double> deadline,
                   RunObserver& observer, Say say)
    : thread_([this, what = std::move(what), deadline, &observer,
               say = std::move(say)] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, deadline, [this] { return is_done_; })) {
          return;
        }
        const std::string text = fmt::format(
            "{} took longer than run.timeout_s = {} s: is a rank or its host "
            "missing?",
            what, deadline.count());
        if (say) {
          say(text);
        } else {
          observer.say("error: " + text + "\n");
        }
        observer.before_exit();
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
