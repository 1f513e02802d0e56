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
  // Who share the update of a stage, over pipes and copies: train.shard_update.
  int update_holders = 1;
  std::vector<int> cut = {};  // first layer of each stage; empty: see below
};

struct StagedModel {
  std::vector<int> cut;  // first layer of each stage
  // In seconds and bytes. What a stage keeps (activation_bytes) is without its
  // input, which the stage below has made, and without its output, which goes.
  Costs costs;
  std::vector<double> workspace_bytes;  // [stage], of a backward as it runs
  // [stage], between the halves of a backward; the input too, if it stays.
  std::vector<double> deferred_bytes;
  double tied_optimizer_bytes = 0;

  bool operator==(const StagedModel&) const = default;
};

// Where no cut is given, it is the balanced one of all compute (F + I + W):
// heavy ends get fewer blocks.
// REQUIRES: not emulated; no more stages than layers.
[[nodiscard]] StagedModel staged_model(const ModelShape& model,
                                       const Profile& profile,
                                       const StagingOptions& options);

// The cut that training takes where its run.toml gives none.
[[nodiscard]] std::vector<int> default_cut(const ModelShape& model, int stages);

// float32 numbers that the optimizer keeps for each parameter.
[[nodiscard]] int optimizer_numbers(OptimizerKind optimizer, double momentum);

}  // namespace chimera
