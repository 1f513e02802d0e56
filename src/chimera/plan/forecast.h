// What a run would cost on a machine, for those who have its configuration: in
// seconds and bytes of each stage, and bytes of each worker.
#pragma once

#include <vector>

#include "chimera/config/run_config.h"
#include "chimera/plan/profile.h"
#include "chimera/plan/staged_model.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// The run's model, cut as the run cuts it.
// REQUIRES: the model's shape and schedule.micro_batch are known, and there are
// no more stages than layers.
[[nodiscard]] StagedModel staged_run(const RunConfig& config,
                                     const Profile& profile,
                                     const Schedule& schedule);

// [worker] of one copy: bytes at its peak. REQUIRES: as staged_run.
[[nodiscard]] std::vector<double> run_bytes(const RunConfig& config,
                                            const Profile& profile,
                                            const Schedule& lowered);

}  // namespace chimera
