#include "chimera/run/ranks/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "chimera/base/host_name.h"
#include "chimera/comm/comm_error.h"
#include "chimera/run/failure.h"

namespace chimera {

ExitCode within_session(
    std::chrono::duration<double> deadline, RunObserver& observer,
    const std::function<ExitCode(MpiSession& session)>& work) {
  std::optional<MpiSession> session;
  try {
    {
      const Watchdog watchdog("MPI_Init", deadline, observer);
      session.emplace();
    }
    const ExitCode code = work(*session);
    const Watchdog watchdog("MPI_Finalize", deadline, observer);
    session.reset();
    return code;
  } catch (const TimeoutError& error) {
    observer.say(fmt::format("error: {}: {}: rank {}\n", host_name(),
                             error.what(), error.peer()));
    leave_process(kExitTimeout, observer);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    observer.say(fmt::format("error: {}: {}\n", host_name(), failure.text));
    leave_process(failure.code(), observer);
  }
}

std::unique_ptr<MpiTransport> make_transport(const MpiOptions& options,
                                             RunObserver& observer,
                                             Watchdog::Say say) {
  const Watchdog watchdog("setting up communicators", options.deadline,
                          observer, std::move(say));
  return make_mpi_transport(options);
}

Cause cause_of_failure() {
  const Failure failure = current_failure();
  // If replicas differ, no rank's weights can be trusted.
  return {.kind = failure.kind,
          .reason = failure.text,
          .can_recover = failure.kind != FailureKind::kNumeric};
}

void leave_process(ExitCode code, RunObserver& observer) {
  observer.before_exit();
  _exit(code);
}

}  // namespace chimera
