// Sees to it that a process never outlives its run. A thread of its own that
// calls nothing of MPI: after a peer's death Open MPI's TCP can hang inside any
// call (it tries to tell mpirun, which is busy killing), so neither finding out
// nor ending may depend on it.
//
// A rank is lost if its process on this host is dead, which is known at once,
// or if it was not heard for too long: dead, stopped, or cut off.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "chimera/comm/ending.h"
#include "chimera/comm/transport.h"

namespace chimera {

class Watch {
 public:
  struct Process {
    int rank = 0;
    int pid = 0;
  };
  struct Options {
    int rank = 0;
    std::vector<Process> processes;  // other ranks of this host
    Clock::duration silence{};       // longer than this is lost
    // How long a rank has not been heard; zero once it has said goodbye.
    std::function<Clock::duration(int rank)> silence_of;
    std::function<std::uint64_t(int rank)> progress_of;
    // The rank that this one has not heard for the longest time.
    std::function<std::pair<int, Clock::duration>()> own_longest_silence;
    // This process was stopped itself: nobody can be blamed for the past.
    std::function<void()> forgive;
    // Says why the run ends, at once; then, a moment later, ends the process.
    std::function<void(const Ending& ending)> speak;
    std::function<void(int exit_code)> leave;  // must not return
  };

  explicit Watch(Options options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The run ends for this reason. Of several the lowest exit code counts, so
  // that all ranks end with the same. Any thread.
  void give_up(const Ending& ending);
  // The reason, for telling others. Any thread.
  [[nodiscard]] std::optional<Ending> ending() const;

  // The launcher will kill this process so soon: a silence of most of that time
  // counts, so that the loss of a peer is told before. Any thread.
  void expect_kill(Clock::duration time_left);
  // Others may go from now on.
  void relax();

 private:
  void run();
  void look();
  void give_up_dead(int rank);
  void wake() const;
  // Waits until something may have happened; the rank whose process is dead,
  // if there is one.
  [[nodiscard]] std::optional<int> wait_for_death(bool is_watching) const;
  [[nodiscard]] Ending lost(int rank) const;

  Options options_;
  int wake_;                 // an eventfd
  std::vector<int> pidfds_;  // by process; -1 = none

  mutable std::mutex mutex_;
  bool is_ending_ = false;   // guarded by mutex_, like all below
  Clock::duration silence_;  // longer than this is lost
  bool is_relaxed_ = false;
  std::optional<Ending> ending_;

  std::thread thread_;
};

}  // namespace chimera
