#include "chimera/run/memory_check.h"

#include <fmt/format.h>

#include <numeric>

#include "chimera/plan/forecast.h"
#include "chimera/plan/own_layers.h"

namespace chimera {

double predicted_bytes(const RunSetup& setup) {
  const ModelConfig& model = setup.config.model;
  if (setup.is_emulated() || !model.layers || !model.vocab) return 0;
  const std::vector<double> workers =
      run_bytes(setup.config, own_layers(model), setup.schedule);
  return setup.schedule.width *
         std::accumulate(workers.begin(), workers.end(), 0.0);
}

std::string memory_warning(const RunSetup& setup, double free_bytes) {
  const double needed = predicted_bytes(setup);
  if (free_bytes == 0 || needed <= free_bytes) return "";
  return fmt::format(
      "warning: the run needs about {:.1f} GB on this host, where {:.1f} GB "
      "are "
      "free, and may be killed; use a smaller micro_batch, schedule.recompute, "
      "or more hosts\n",
      needed / 1e9, free_bytes / 1e9);
}

}  // namespace chimera
