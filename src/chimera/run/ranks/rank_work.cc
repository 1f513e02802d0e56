// Work of several processes other than a run: calibrate.
#include <fmt/format.h>

#include "chimera/base/host_name.h"
#include "chimera/checkpoint/recovery.h"
#include "chimera/run/failure.h"
#include "chimera/run/ranks.h"
#include "chimera/run/ranks/session.h"

namespace chimera {
namespace {

// A sentence about the end, from this rank's point of view.
std::string ending_text(const Ending& ending, int rank) {
  const auto silence = [&] {
    return fmt::format("not heard for {:.1f} s", ending.silent_s);
  };
  const bool is_found_lost = ending.lost >= 0 && !ending.is_self_reported();
  if (is_found_lost && ending.lost == rank) {
    return fmt::format("{} by rank {}: was it stopped?", silence(),
                       ending.origin);
  }
  if (is_found_lost) {
    return fmt::format("lost rank {}: {}", ending.lost,
                       ending.is_dead ? "its process has died" : silence());
  }
  // An origin below 0 means that a communication thread has failed.
  if (ending.origin == rank || ending.origin < 0) return ending.reason;
  return fmt::format("ended by rank {}: {}", ending.origin, ending.reason);
}

class WorkEnding final : public EndingHandler {
 public:
  WorkEnding(int rank, RunObserver& observer)
      : rank_(rank), observer_(observer) {}

  [[nodiscard]] Cause cause_of_exception() override {
    return cause_of_failure();
  }
  void report(const Ending& ending) override {
    observer_.say(fmt::format("error: rank {} ({}): {}\n", rank_, host_name(),
                              ending_text(ending, rank_)));
  }
  [[noreturn]] void leave(FailureKind kind) override {
    leave_process(exit_code_of(kind), observer_);
  }

 private:
  int rank_;
  RunObserver& observer_;
};

}  // namespace

ExitCode work_as_rank(const RankWork& work, Launcher launcher,
                      RunObserver& observer, const RankBody& body) {
  return within_session(
      work.deadline, observer, [&](MpiSession& session) -> ExitCode {
        if (session.size() != work.ranks) {
          if (session.rank() > 0) return kExitUsage;
          return say_errors(
              {{.code = "E571",
                .found = fmt::format("{} ranks by {}", session.size(),
                                     name_of(launcher)),
                .needed = fmt::format("must be {}, one for each worker",
                                      work.ranks)}},
              observer);
        }
        const HostPlace place{.ranks = session.ranks_here(),
                              .local_rank = session.local_rank()};
        const Diagnostics errors = work.check(place);
        if (!errors.empty()) return say_errors(errors, observer);
        WorkEnding ending(session.rank(), observer);
        std::unique_ptr<MpiTransport> transport =
            make_transport({.deadline = work.deadline,
                            .groups = work.groups,
                            .peers = all_but(session.rank(), session.size()),
                            .handler = ending},
                           observer);
        try {
          body(*transport, place);
        } catch (const std::exception& error) {
          transport->abort(error.what());  // ends the process
        }
        const Watchdog watchdog("leaving the others", work.deadline, observer);
        transport.reset();
        return kExitDone;
      });
}

std::string mpi_library() { return MpiSession::library(); }

}  // namespace chimera
