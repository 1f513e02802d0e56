// MPI around the work of one rank, with a deadline for what MPI itself gives
// none.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/session.h"
#include "chimera/run/ranks/watchdog.h"
#include "chimera/run/run.h"

namespace chimera {

// MPI from its beginning to its end around `work`, which gives the exit code.
// Where that fails nobody can be relied upon any more, MPI_Finalize included:
// the process ends.
[[nodiscard]] ExitCode within_session(
    std::chrono::duration<double> deadline, RunObserver& observer,
    const std::function<ExitCode(MpiSession& session)>& work);

// All ranks make their communicators together: MPI waits for each, for ever.
// `say` as in Watchdog.
[[nodiscard]] std::unique_ptr<MpiTransport> make_transport(
    const MpiOptions& options, RunObserver& observer, Watchdog::Say say = {});

// For MpiOptions::cause.
[[nodiscard]] Cause cause_of_failure();

// Ends the process without destructors, which may wait for stuck threads.
[[noreturn]] void leave_process(int exit_code, RunObserver& observer);

}  // namespace chimera
