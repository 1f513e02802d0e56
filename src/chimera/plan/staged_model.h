// A model on a machine, cut into stages: the costs that the simulator and the
// memory model take, from a profile.
#pragma once

#include <vector>

#include "chimera/config/run_config.h"
#include "chimera/plan/profile.h"
#include "chimera/schedule/costs.h"

namespace chimera {

struct StagingOptions {
  int stages = 1;
  int micro_batch = 1;
  // 2: backwards run on half a micro-batch at a time, at that size's speed.
  int parts = 1;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  double momentum = 0;  // of sgd
};

struct StagedModel {
  std::vector<int> cut;                 // first layer of each stage
  Costs costs;                          // in seconds and bytes
  std::vector<double> workspace_bytes;  // [stage]

  bool operator==(const StagedModel&) const = default;
};

// The cut is the balanced one of all compute (F + I + W): heavy ends get fewer
// blocks.
// REQUIRES: not emulated; no more stages than layers.
[[nodiscard]] StagedModel staged_model(const ModelShape& model,
                                       const Profile& profile,
                                       const StagingOptions& options);

// float32 numbers that the optimizer keeps for each parameter.
[[nodiscard]] int optimizer_numbers(OptimizerKind optimizer, double momentum);

}  // namespace chimera
