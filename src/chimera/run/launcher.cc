#include "chimera/run/launcher.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

namespace chimera {
namespace {

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

int number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);  // NOLINT: ours to trust
}

constexpr const char* kStart =
    "mpirun -n RANKS chimera train -c run.toml, or srun --mpi=pmix chimera "
    "train -c run.toml; RANKS is schedule.width x schedule.depth";

Diagnostic refuse(const std::string& found, const std::string& needed,
                  const std::string& hint = kStart) {
  return {.code = "E571", .found = found, .needed = needed, .hint = hint};
}

}  // namespace

// Ignores SLURM_PROCID and SLURM_NTASKS: they are also set in a batch script,
// and under mpirun they are those of mpirun's daemon.
Launcher find_launcher() {
  if (is_set("OMPI_COMM_WORLD_SIZE")) return Launcher::kMpirun;
  if (is_set("PMIX_RANK")) return Launcher::kSrun;
  const bool torchrun = is_set("TORCHELASTIC_RUN_ID") ||
                        (is_set("LOCAL_RANK") && is_set("MASTER_ADDR"));
  if (torchrun && number("WORLD_SIZE") > 1) return Launcher::kTorchrun;
  if (is_set("SLURM_STEP_ID") && number("SLURM_STEP_NUM_TASKS") > 1) {
    return Launcher::kSrunPlain;
  }
  return Launcher::kShell;
}

Result<bool> is_mpi_rank(TransportKind asked, Launcher launcher) {
  const bool by_mpi =
      launcher == Launcher::kMpirun || launcher == Launcher::kSrun;
  if (asked == TransportKind::kThreads) {
    const Diagnostics errors =
        check_single("run.transport = \"threads\"", launcher);
    if (!errors.empty()) return errors;
    return false;
  }
  if (by_mpi) return true;
  if (launcher == Launcher::kTorchrun) {
    return refuse("torchrun",
                  "starts separate processes, and workers meet through MPI");
  }
  if (launcher == Launcher::kSrunPlain) {
    return refuse("srun without --mpi=pmix",
                  "starts separate processes that are not one MPI world",
                  "srun --mpi=pmix chimera train -c run.toml");
  }
  if (asked == TransportKind::kMpi) {
    return refuse("run.transport = \"mpi\"",
                  "needs a launcher: this process was started alone");
  }
  return false;
}

Diagnostics check_single(const std::string& command, Launcher launcher) {
  // Launchers other than srun set PMIX_RANK too, but not the number of
  // processes, so several are assumed.
  const bool several =
      launcher == Launcher::kSrunPlain || launcher == Launcher::kTorchrun ||
      (launcher == Launcher::kSrun && number("SLURM_STEP_NUM_TASKS") != 1) ||
      (launcher == Launcher::kMpirun && number("OMPI_COMM_WORLD_SIZE") > 1);
  if (!several) return {};
  return {refuse(
      command,
      "runs in one process, but " + name_of(launcher) + " has started several",
      "start it without " + name_of(launcher))};
}

std::string name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::kMpirun:
      return "mpirun";
    case Launcher::kSrun:
    case Launcher::kSrunPlain:
      return "srun";
    case Launcher::kTorchrun:
      return "torchrun";
    case Launcher::kShell:
      return "a shell";
  }
  return "";
}

bool is_mpirun(int pid) {
  constexpr std::array<std::string_view, 4> kNames = {"mpirun", "mpiexec",
                                                      "orterun", "orted"};
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return std::ranges::find(kNames, name) != kNames.end();
}

// mpirun passes its parameters on in the environment; one second is the
// default.
std::chrono::duration<double> mpirun_kill_delay() {
  const char* given = std::getenv("OMPI_MCA_odls_base_sigkill_timeout");
  return std::chrono::duration<double>(given == nullptr ? 1 : std::atof(given));
}

}  // namespace chimera
