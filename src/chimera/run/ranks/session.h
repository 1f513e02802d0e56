// Starts and ends MPI around the work of one rank, with deadlines for calls
// that have none.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/session.h"
#include "chimera/run/ranks/watchdog.h"
#include "chimera/run/run.h"

namespace chimera {

// Initialises MPI, calls `work`, finalises MPI, and returns `work`'s exit code.
// If `work` throws, the process ends here, because MPI_Finalize could wait for
// other ranks for ever.
[[nodiscard]] ExitCode within_session(
    std::chrono::duration<double> deadline, RunObserver& observer,
    const std::function<ExitCode(MpiSession& session)>& work);

// Makes the transport under a watchdog: all ranks create their communicators
// together, and MPI would wait for a missing rank for ever. `say` as in
// Watchdog.
[[nodiscard]] std::unique_ptr<MpiTransport> make_transport(
    const MpiOptions& options, RunObserver& observer, Watchdog::Say say = {});

// For EndingHandler::cause_of_exception().
[[nodiscard]] Cause cause_of_failure();

// Ends the process without destructors, which may wait for stuck threads.
[[noreturn]] void leave_process(ExitCode code, RunObserver& observer);

}  // namespace chimera
