// The launcher that started this process, found from the environment. It must
// be known before MPI is initialised, because MPI_Init ends a process that no
// MPI launcher started with a message of its own.
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
  kTorchrun,   // separate processes
};

[[nodiscard]] Launcher find_launcher();

// Decides from the requested transport and the launcher whether this process is
// one rank of several. E571 if they do not fit together.
[[nodiscard]] Result<bool> is_mpi_rank(TransportKind asked, Launcher launcher);

// Checks a command that runs in one process: E571 if a launcher has started
// several.
[[nodiscard]] Diagnostics check_single(const std::string& command,
                                       Launcher launcher);

[[nodiscard]] std::string name_of(Launcher launcher);

// Whether process `pid` of this host is mpirun or its daemon.
[[nodiscard]] bool is_mpirun(int pid);

// Time from mpirun's SIGTERM to its SIGKILL.
[[nodiscard]] std::chrono::duration<double> mpirun_kill_delay();

}  // namespace chimera
