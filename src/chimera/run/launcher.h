// Who started this process, and so which ranks there are: read from the
// environment before MPI is touched, as MPI_Init fails in its own words where
// it was not asked for.
#pragma once

#include <chrono>
#include <string>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"

namespace chimera {

enum class Launcher {
  kShell,      // a shell: ranks are threads
  kMpirun,     // one rank of an MPI world
  kSrun,       // the same, by srun --mpi=pmix
  kSrunPlain,  // srun without PMIx: separate processes
  kTorchrun,   // separate processes, too
};

[[nodiscard]] Launcher find_launcher();

// Whether this process is one rank of several: what was asked for against who
// started it.
//   E571 a transport or a launcher that cannot be
[[nodiscard]] Result<bool> is_mpi_rank(TransportKind asked, Launcher launcher);

// For commands that run in one process: E571 if a launcher has started several.
[[nodiscard]] Diagnostics check_single(const std::string& command,
                                       Launcher launcher);

[[nodiscard]] std::string name_of(Launcher launcher);

// Whether the process `pid` of this host is mpirun, or its daemon.
[[nodiscard]] bool is_mpirun(int pid);

// Time from mpirun's SIGTERM to its SIGKILL.
[[nodiscard]] std::chrono::duration<double> mpirun_kill_delay();

}  // namespace chimera
