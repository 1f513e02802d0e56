// For builds without MPI.
#include "chimera/cli/console.h"
#include "chimera/cli/run/mpi_run.h"

namespace chimera {

int train_as_rank(const Result<RunConfig>& /*config*/, bool /*resume*/,
                  Launcher launcher) {
  return print_errors(
      {{.code = "E573",
        .found = name_of(launcher),
        .needed = "has started several processes, but this build has no MPI",
        .hint = "build with -DCHIMERA_WITH_MPI=ON"}});
}

std::string mpi_library() { return ""; }

}  // namespace chimera
