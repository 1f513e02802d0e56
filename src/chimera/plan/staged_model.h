// A model on a machine, cut into stages: derives from a profile the costs that
// the simulator and the memory model need.
#pragma once

#include <vector>

#include "chimera/config/run_config.h"
#include "chimera/plan/profile.h"
#include "chimera/schedule/costs.h"

namespace chimera {

struct StagingOptions {
  int stages = 1;
  int micro_batch = 1;
  // 2: each backward runs on half a micro-batch, with the times of that size.
  int parts = 1;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  double momentum = 0;  // for SGD
  Precision precision = Precision::kFloat32;
  // Number of ranks that share the update of a stage, over pipes and copies
  // (train.shard_update).
  int update_holders = 1;
  Recompute recompute = false;
  std::vector<int> cut = {};  // first layer of each stage; may be empty
};

struct StagedModel {
  std::vector<int> cut;  // first layer of each stage
  // Seconds and bytes. A stage's activation_bytes exclude its input, which the
  // previous stage makes, and its output, which is sent. Its omega counts the
  // input; it is 1 where the profile does not tell what W needs.
  Costs costs;
  std::vector<double> workspace_bytes;  // [stage], while a backward runs
  // [stage], while I runs. I leaves to W what a whole backward would free.
  std::vector<double> input_workspace_bytes;
  // [stage], between the halves of a backward, including the input if it is
  // kept.
  std::vector<double> deferred_bytes;
  double tied_optimizer_bytes = 0;
  // Bytes of the weights' rounded copy, as a share of the weights' bytes.
  double rounded_share = 0;

  bool operator==(const StagedModel&) const = default;
};

// Without options.cut the stages are balanced by all compute (F + I + W), so
// heavy ends get fewer blocks. REQUIRES: not emulated; no more stages than
// layers.
[[nodiscard]] StagedModel staged_model(const ModelShape& model,
                                       const Profile& profile,
                                       const StagingOptions& options);

// The cut that training uses if run.toml gives none.
[[nodiscard]] std::vector<int> default_cut(const ModelShape& model, int stages);

// Number of float32 values that the optimizer keeps per parameter.
[[nodiscard]] int optimizer_numbers(OptimizerKind optimizer, double momentum);

}  // namespace chimera
