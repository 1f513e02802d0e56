// Requests to a run by signals. One thread waits for them, so that a handler
// may do anything that a thread may do.
//   SIGINT            end after this step
//   SIGTERM, SIGUSR1  end after this step and save
//   SIGQUIT           say what every worker is doing, and go on
// A second signal of the first three ends the process at once. Broken pipes and
// files that grow too large become errors of the write instead of signals.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "chimera/train/observer.h"

namespace chimera {

class Signals {
 public:
  struct Handlers {
    // SIGTERM, and the process that sent it; may be empty.
    std::function<void(int sender)> on_terminate = {};
    std::function<void()> on_quit = {};  // SIGQUIT; may be empty
    // Says that the run will end, and when. May be empty.
    std::function<void(const std::string& text)> say = {};
  };

  // REQUIRES: constructed before any other thread starts, so that all threads
  // inherit the blocked signals.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Installs handlers, which are called on the waiting thread. Until then a
  // signal ends the process, because there is no step to finish yet.
  void handle(const Handlers& handlers);

  [[nodiscard]] Wish wish() const { return wish_; }

 private:
  void wait();
  void take(int signal, int sender);

  std::atomic<Wish> wish_ = Wish::kGoOn;
  std::atomic<bool> is_ending_ = false;
  std::mutex mutex_;
  std::optional<Handlers> handlers_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace chimera
