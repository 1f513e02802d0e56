// The functions of ranks.h for builds without MPI.
#include "chimera/run/ranks.h"

namespace chimera {
namespace {

ExitCode refuse(Launcher launcher, RunObserver& observer) {
  return say_errors(
      {{.code = "E573",
        .found = name_of(launcher),
        .needed = "has started several processes, but this build has no MPI",
        .hint = "build with -DCHIMERA_WITH_MPI=ON"}},
      observer);
}

}  // namespace

RunEnd run_as_rank(const Result<RunConfig>& /*config*/,
                   const RunOptions& /*options*/, Launcher launcher,
                   RunObserver& observer) {
  return {refuse(launcher, observer)};
}

ExitCode work_as_rank(const RankWork& /*work*/, Launcher launcher,
                      RunObserver& observer, const RankBody& /*body*/) {
  return refuse(launcher, observer);
}

std::string mpi_library() { return ""; }

}  // namespace chimera
