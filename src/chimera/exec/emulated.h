// Stages that wait instead of computing. Times, sizes, messages and sums are
// those of a real run, so that many workers can be run and measured on a few
// cores. Everything that passes between stages is stamped and checked, so a run
// also proves that everything reached its place.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "chimera/exec/stage_compute.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/jitter.h"

namespace chimera {

struct EmulatedStage {
  double forward_s = 0;
  double input_grad_s = 0;
  double weight_grad_s = 0;
  double update_s = 0;
  std::size_t boundary_bytes = 0;  // bytes sent to the next stage
  std::size_t gradient_bytes = 0;
};

// Converts simulator costs to stages whose emulated times are those costs in
// seconds.
[[nodiscard]] std::vector<EmulatedStage> emulated_stages(const Costs& costs);

// `jitter` makes times vary as in a simulation with the same deviation and
// play. REQUIRES: one entry of `stages` per stage; `lowered` outlives the
// result.
[[nodiscard]] std::unique_ptr<StageCompute> make_emulated(
    const Schedule& lowered, std::vector<EmulatedStage> stages,
    const Jitter& jitter = {0, 0});

}  // namespace chimera
