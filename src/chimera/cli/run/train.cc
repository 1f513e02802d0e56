// chimera train: run a configuration and leave a run directory.
#include <ctime>
#include <iostream>
#include <memory>

#include "chimera/cli/console.h"
#include "chimera/cli/exit_codes.h"
#include "chimera/cli/run/launcher.h"
#include "chimera/cli/run/mpi_run.h"
#include "chimera/cli/run/run_config.h"
#include "chimera/cli/run/run_functions.h"
#include "chimera/cli/run/training.h"
#include "chimera/exec/program.h"

namespace chimera {
namespace {

// "runs/20261116-021500".
std::string fresh_directory() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", std::localtime(&now));
  return std::string("runs/") + text;
}

// All ranks as threads of this process.
int train_here(const RunConfig& config) {
  Signals signals;
  const Result<std::unique_ptr<RunSetup>> setup = set_up_here(config);
  if (!setup) return print_run_errors(setup.errors());
  const RunSetup& ready = **setup;
  const std::string& path = config.run.dir;
  Flights flights(0, num_ranks(ready.schedule));
  signals.handle({.on_quit = [&] { flights.write(path, {}, "SIGQUIT"); }});
  Result<RunDirectory> created = RunDirectory::create(path, ready.config);
  if (!created) return print_run_errors(created.errors());
  for (const std::string& notice : ready.notices) {
    std::cerr << "note: " << notice << '\n';
  }
  std::cerr << layout_text(ready, "threads") << "run directory: " << path
            << '\n';
  RunDirectory directory = std::move(created).value();
  return run_training({.setup = ready,
                       .directory = &directory,
                       .flights = flights,
                       .signals = signals});
}

}  // namespace

int run_train(const RunRequest& request) {
  if (request.resume) {
    return print_errors({{.code = "E564",
                          .found = "--resume",
                          .needed = "is to come: a run cannot be continued "
                                    "yet"}});
  }
  Result<RunConfig> config = read_run_config(request);
  if (config) {
    RunConfig resolved = *config;
    if (!request.run_dir.empty()) resolved.run.dir = request.run_dir;
    if (resolved.run.dir.empty()) resolved.run.dir = fresh_directory();
    config = resolved;
  }
  const Launcher launcher = find_launcher();
  const Result<bool> is_rank = is_mpi_rank(
      config ? config->run.transport : TransportKind::kAuto, launcher);
  if (!is_rank) return print_errors(is_rank.errors());
  // A rank's mistakes are told by rank 0, and end all ranks alike.
  if (*is_rank) return train_as_rank(config, launcher);
  if (!config) return print_run_errors(config.errors());
  const int exit_code = train_here(*config);
  if (exit_code == kExitDone || exit_code == kExitInterrupted) {
    write_result(config->run.dir + "\n", "");
  }
  return exit_code;
}

}  // namespace chimera
