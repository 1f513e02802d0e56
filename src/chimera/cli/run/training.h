// A run that is set up, from its directory to its exit code: the same whether
// its ranks are threads or this process is one of them.
#pragma once

#include <functional>
#include <string>

#include "chimera/cli/run/flights.h"
#include "chimera/cli/run/signals.h"
#include "chimera/train/run_directory.h"
#include "chimera/train/setup.h"
#include "chimera/train/train.h"

namespace chimera {

// "chimera: 4 workers as threads, 2 pipes, ..." and the model and data.
[[nodiscard]] std::string layout_text(const RunSetup& setup,
                                      const std::string& workers_are);

struct TrainingContext {
  const RunSetup& setup;
  RunDirectory* directory = nullptr;  // null on ranks that only take part
  Flights& flights;
  const Signals& signals;
  TrainSite site = {};
  // After a worker was lost and the others have saved the run; may be empty.
  std::function<void(const Recovered& recovered)> on_recovered = {};
  int hosts = 1;  // taken to be alike
};

// Codes of a run whose directory is worth naming.
[[nodiscard]] bool ends_well(int exit_code);

// Trains, and writes what is left of it. Returns the exit code. Where other
// ranks are other processes, throws what it fails of.
[[nodiscard]] int run_training(const TrainingContext& context);

}  // namespace chimera
