// For builds without MPI.
#include "chimera/cli/run/mpi_run.h"
#include "chimera/console/console.h"

namespace chimera {

namespace {

int refuse(Launcher launcher) {
  return print_errors(
      {{.code = "E573",
        .found = name_of(launcher),
        .needed = "has started several processes, but this build has no MPI",
        .hint = "build with -DCHIMERA_WITH_MPI=ON"}});
}

}  // namespace

int train_as_rank(const Result<RunConfig>& /*config*/, bool /*resume*/,
                  Launcher launcher) {
  return refuse(launcher);
}

int run_as_rank(
    const RankWork& /*work*/, Launcher launcher,
    const std::function<void(Transport& transport, int ranks_here)>& /*body*/) {
  return refuse(launcher);
}

std::string mpi_library() { return ""; }

}  // namespace chimera
