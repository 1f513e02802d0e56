// Ends a rank when the run ends early: reports what the rank was doing and what
// it knows of the others, writes its flight recorder and state.json, and exits.
// Does not use MPI, which may hang.
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

  // Sets the transport whose progress is reported. It outlives this object.
  void set_transport(const Transport& transport) { transport_ = &transport; }

  // Reports why the run ends and what this rank is doing at this moment.
  void report(const Ending& ending);
  [[noreturn]] void leave(ExitCode code) const;
  // Exits after the survivors, this rank included, have saved the run.
  [[noreturn]] void leave_saved(int steps) const;

  // Called when the launcher asks for the end: it does not wait for a long
  // step. If the run has not ended a moment later, reports that and writes
  // state.json, because the process may be killed soon. A later state.json
  // replaces it.
  void warn();
  // Cancels warn(): the run has ended.
  void settle();

 private:
  // What this rank says, and the part of it that is the same for all ranks.
  [[nodiscard]] std::string text(const Ending& ending,
                                 std::uint64_t progress) const;
  [[nodiscard]] std::string reason(const Ending& ending) const;
  // Whether files in the run directory are this rank's to write: any rank may,
  // in a directory that all hosts share; otherwise only rank 0 has it.
  [[nodiscard]] bool has_directory() const;
  void leave_event(const Ending& ending) const;
  void leave_state(const RunState& state) const;

  Options options_;
  int steps_ = 0;  // steps done at the time of report()
  bool leaves_state_ = true;
  std::mutex mutex_;
  std::condition_variable settled_;
  bool is_settled_ = false;  // guarded by mutex_
  std::atomic<const Transport*> transport_ = nullptr;
};

}  // namespace chimera
