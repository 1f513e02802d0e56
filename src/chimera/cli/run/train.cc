// chimera train: run a configuration and leave a run directory.
#include <ctime>
#include <iostream>
#include <memory>

#include "chimera/cli/run/background_stderr.h"
#include "chimera/cli/run/launcher.h"
#include "chimera/cli/run/mpi_run.h"
#include "chimera/cli/run/resume_point.h"
#include "chimera/cli/run/run_config.h"
#include "chimera/cli/run/run_functions.h"
#include "chimera/cli/run/training.h"
#include "chimera/console/console.h"
#include "chimera/console/exit_codes.h"
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
int train_here(const RunConfig& config, const ResumePoint* point) {
  Signals signals;
  const Result<std::unique_ptr<RunSetup>> setup =
      set_up_here(config, point == nullptr ? "" : point->checkpoint);
  if (!setup) return print_run_errors(setup.errors());
  const RunSetup& ready = **setup;
  const std::string& path = config.run.dir;
  Flights flights(0, num_ranks(ready.schedule));
  signals.handle({.on_quit = [&] { flights.write(path, {}, "SIGQUIT"); }});
  Result<RunDirectory> created = open_run_directory(path, ready, point);
  if (!created) return print_run_errors(created.errors());
  for (const std::string& notice : ready.notices) {
    std::cerr << "note: " << notice << '\n';
  }
  std::cerr << layout_text(ready, "threads") << "run directory: " << path
            << '\n';
  if (point != nullptr) std::cerr << resume_text(*point, ready);
  RunDirectory directory = std::move(created).value();
  return run_training({.setup = ready,
                       .directory = &directory,
                       .flights = flights,
                       .signals = signals});
}

int train_or_resume(const RunConfig& config, bool resume) {
  if (!resume) return train_here(config, nullptr);
  const Result<ResumePoint> point = find_resume_point(config.run.dir);
  if (!point) return print_run_errors(point.errors());
  return train_here(config, &*point);
}

Diagnostic no_directory() {
  return {.code = "E402",
          .found = "--run-dir",
          .needed = "is missing: which run is to go on?",
          .hint = "or set run.dir"};
}

}  // namespace

int run_train(const RunRequest& request) {
  const BackgroundStderr background;
  Result<RunConfig> config = read_run_config(request);
  if (config) {
    RunConfig resolved = *config;
    if (!request.run_dir.empty()) resolved.run.dir = request.run_dir;
    if (resolved.run.dir.empty() && request.resume) {
      config = no_directory();
    } else {
      if (resolved.run.dir.empty()) resolved.run.dir = fresh_directory();
      config = resolved;
    }
  }
  const Launcher launcher = find_launcher();
  const Result<bool> is_rank = is_mpi_rank(
      config ? config->run.transport : TransportKind::kAuto, launcher);
  if (!is_rank) return print_errors(is_rank.errors());
  // A rank's mistakes are told by rank 0, and end all ranks alike.
  if (*is_rank) return train_as_rank(config, request.resume, launcher);
  if (!config) return print_run_errors(config.errors());
  const int exit_code = train_or_resume(*config, request.resume);
  if (ends_well(exit_code)) {
    write_result(config->run.dir + "\n", "");
  }
  return exit_code;
}

}  // namespace chimera
