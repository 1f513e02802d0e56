// How a rank ends when the run is over before its time: it says where it stood
// and what it knows of the others, leaves its flight recorder and state.json,
// and exits. Needs nothing of MPI, which may be stuck.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "chimera/comm/ending.h"
#include "chimera/comm/transport.h"
#include "chimera/run/flights.h"
#include "chimera/run/run.h"
#include "chimera/run/run_directory.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

class ExitReport {
 public:
  struct Options {
    const Schedule& schedule;
    int rank = 0;
    std::vector<std::string> rank_names;
    std::string run_dir;
    const Flights& flights;
    RunObserver& observer;
  };

  explicit ExitReport(Options options) : options_(std::move(options)) {}

  // Whose progress is told; outlives this.
  void set_transport(const Transport& transport) { transport_ = &transport; }

  // Where the rank stands may change afterwards: other threads still run.
  void report(const Ending& ending);
  [[noreturn]] void leave(ExitCode code) const;
  // The others and this one have saved the run after so many steps.
  [[noreturn]] void leave_saved(int steps) const;

  // The launcher has asked for the end, and will not wait for a long step: if
  // the run has not ended a moment later, says so, as this process may be gone
  // another moment later. If it is not, its next state.json counts.
  void warn();
  // The run has ended: nothing to warn of any more.
  void settle();

 private:
  [[nodiscard]] std::string text(const Ending& ending,
                                 std::uint64_t progress) const;
  void leave_state(const RunState& state) const;

  Options options_;
  int steps_ = 0;  // done when it reported
  bool leaves_state_ = true;
  std::mutex mutex_;
  std::condition_variable settled_;
  bool is_settled_ = false;  // guarded by mutex_
  std::atomic<const Transport*> transport_ = nullptr;
};

}  // namespace chimera
