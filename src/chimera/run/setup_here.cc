#include "chimera/run/setup_here.h"

#include <unistd.h>

#include <algorithm>

namespace chimera {

Result<std::unique_ptr<RunSetup>> set_up_here(const RunConfig& config,
                                              const SetupHere& options) {
  const long cores = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  const SetupOptions setup{.host_cores = static_cast<int>(cores),
                           .ranks_here = options.ranks_here,
                           .local_rank = options.local_rank,
                           .checkpoint = options.checkpoint,
                           .scans_data = options.scans_data};
  if (options.own_model) return set_up(config, setup, options.own_model());
  return set_up(config, setup);
}

}  // namespace chimera
