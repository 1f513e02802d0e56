// Work of several processes that is not a run: calibrate.
#include <fmt/format.h>

#include "chimera/run/ranks.h"
#include "chimera/run/ranks/session.h"

namespace chimera {
namespace {

// What a rank says of the end.
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
  // Below 0: the thread that would have told the others has failed itself.
  if (ending.origin == rank || ending.origin < 0) return ending.reason;
  return fmt::format("ended by rank {}: {}", ending.origin, ending.reason);
}

MpiOptions options_of(const RankWork& work, const MpiSession& session,
                      RunObserver& observer) {
  const int rank = session.rank();
  std::vector<int> peers;
  for (int other = 0; other < session.size(); ++other) {
    if (other != rank) peers.push_back(other);
  }
  return {
      .deadline = work.deadline,
      .groups = work.groups,
      .peers = peers,
      .cause = cause_of_failure,
      .speak =
          [rank, &observer](const Ending& ending) {
            observer.say(fmt::format("error: rank {} ({}): {}\n", rank,
                                     host_name(), ending_text(ending, rank)));
          },
      .leave =
          [&observer](int exit_code) { leave_process(exit_code, observer); }};
}

}  // namespace

ExitCode work_as_rank(
    const RankWork& work, Launcher launcher, RunObserver& observer,
    const std::function<void(Transport& transport, int ranks_here)>& body) {
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
        std::unique_ptr<MpiTransport> transport =
            make_transport(options_of(work, session, observer), observer);
        try {
          body(*transport, session.ranks_here());
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
