// Sees to it that a process never outlives its run. A thread of its own that
// calls nothing of MPI: after a peer's death Open MPI's TCP can hang inside any
// call (it tries to tell mpirun, which is busy killing), so neither finding out
// nor ending may depend on it.
//
// A peer is lost if its process on this host is dead, or if it was not heard
// for too long: dead, stopped, or cut off.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "chimera/comm/ending.h"
#include "chimera/comm/transport.h"

namespace chimera {

class Watch {
 public:
  struct Peer {
    int rank = 0;
    int pid = 0;  // 0 if it is on another host
  };
  struct Options {
    int rank = 0;
    std::vector<Peer> peers;
    Clock::duration silence{};  // longer than this is lost
    // How long a rank has not been heard; zero once it has said goodbye.
    std::function<Clock::duration(int rank)> silence_of;
    std::function<void(const Ending& ending)> end;  // must not return
  };

  explicit Watch(Options options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The run ends for this reason, a moment later: what other ranks find out
  // meanwhile counts too, and the lowest exit code wins, so that all ranks end
  // with the same. Any thread.
  void give_up(const Ending& ending);
  // The reason, for telling others. Any thread.
  [[nodiscard]] std::optional<Ending> ending() const;

  // The launcher wants us gone: if a peer is dead, say so before it kills us.
  void hurry();
  // Peers may go from now on.
  void relax();

 private:
  void run();
  void look();
  [[nodiscard]] Ending lost(int rank) const;

  Options options_;
  std::vector<int> pidfds_;  // by peer; -1 = none

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;  // guarded by mutex_, like all below
  bool is_hurried_ = false;
  bool is_relaxed_ = false;
  std::optional<Ending> ending_;
  Clock::time_point end_at_;

  std::thread thread_;
};

}  // namespace chimera
