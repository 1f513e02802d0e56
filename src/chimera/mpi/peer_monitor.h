// Watches the other ranks, and ends this process when the run is over. Works on
// a thread of its own that never calls MPI: after a peer's death Open MPI's TCP
// can hang inside any call (it tries to tell mpirun, which is busy killing), so
// neither the discovery of a loss nor the end may depend on MPI.
//
// A rank is lost if its process on this host is dead, which shows at once, or
// if it stays silent for too long: dead, stopped, or cut off.
#pragma once

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "chimera/comm/ending.h"
#include "chimera/mpi/heartbeats.h"

namespace chimera {

class PeerMonitor {
 public:
  struct Process {
    int rank = 0;
    int pid = 0;
  };
  struct Options {
    int rank = 0;
    std::vector<Process> processes;   // other ranks of this host
    Clock::duration longest_silence;  // a rank silent for longer is lost
  };

  // REQUIRES: both references outlive this object.
  PeerMonitor(Options options, Heartbeats& heartbeats, EndingHandler& handler);
  ~PeerMonitor();
  PeerMonitor(const PeerMonitor&) = delete;
  PeerMonitor& operator=(const PeerMonitor&) = delete;

  // Ends the run for this reason. If there are several, the first kind of
  // FailureKind counts, so that all ranks end alike. Callable on any thread.
  void end_run(const Ending& ending);
  // Why the run ends, if it does. Callable on any thread.
  [[nodiscard]] std::optional<Ending> ending() const;

  // The launcher will kill this process after `time_left`. From now on a
  // silence of most of that time counts as a loss, so that the loss is reported
  // before the kill. Callable on any thread.
  void expect_kill(Clock::duration time_left);
  // Stops watching: from now on peers may leave.
  void allow_leaving();

 private:
  void run();
  void check_silences();
  void end_run_after_death(int rank);
  void wake() const;
  // Sleeps until a process dies, another thread calls wake(), or a silence is
  // to be checked. Returns the rank whose process has died, if one has.
  [[nodiscard]] std::optional<int> wait_for_death(bool is_watching) const;
  [[nodiscard]] Ending loss_of(int rank) const;

  Options options_;
  Heartbeats& heartbeats_;
  EndingHandler& handler_;
  int wake_;                 // an eventfd
  std::vector<int> pidfds_;  // [process]; -1 = no pidfd

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  bool is_stopping_ = false;
  Clock::duration longest_silence_;
  bool may_leave_ = false;
  std::optional<Ending> ending_;

  std::thread thread_;
};

}  // namespace chimera
