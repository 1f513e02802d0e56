// Predicts what the run of a configuration costs on a machine: seconds and
// bytes of each stage, and bytes of each worker.
#pragma once

#include <vector>

#include "chimera/config/run_config.h"
#include "chimera/plan/memory_model.h"
#include "chimera/plan/profile.h"
#include "chimera/plan/staged_model.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// The run's model, cut as the run cuts it. REQUIRES: the model's shape and
// schedule.micro_batch are set, and there are no more stages than layers.
[[nodiscard]] StagedModel staged_run(const RunConfig& config,
                                     const Profile& profile,
                                     const Schedule& schedule);

// [worker] of one copy: bytes at its peak. REQUIRES: as staged_run.
[[nodiscard]] std::vector<WorkerBytes> run_memory(const RunConfig& config,
                                                  const Profile& profile,
                                                  const Schedule& lowered);

// The totals of run_memory().
[[nodiscard]] std::vector<double> run_bytes(const RunConfig& config,
                                            const Profile& profile,
                                            const Schedule& lowered);

}  // namespace chimera
