// StageCompute on libtorch: all stages of one rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "chimera/config/run_config.h"
#include "chimera/exec/stage_compute.h"
#include "chimera/model/model.h"
#include "chimera/model/optimizer.h"
#include "chimera/model/parameter_block.h"
#include "chimera/model/shared_weights.h"

namespace chimera {

// The gradient of the whole mini-batch that a rank is about to apply to one
// stage (or to the tied weights), and those weights.
struct GradientView {
  int rank = 0;
  int step = 0;
  int micro = kNone;  // set if every micro-batch has its own update
  const std::vector<ParameterSpec>& specs;
  const std::vector<at::Tensor>& weights;
  const std::vector<at::Tensor>& gradients;
};

struct TorchComputeOptions {
  const Model& model;
  std::vector<int> cut;      // first layer of each stage
  const Schedule& schedule;  // lowered
  int micro_batch = 1;
  std::int64_t seed = 0;
  Formats formats;
  std::vector<at::Device> devices;  // [rank]; empty: all use the CPU
  int threads = 1;                  // libtorch threads of each rank
  ParameterInit init;
  std::shared_ptr<const BatchSource> training;
  std::shared_ptr<const BatchSource> evaluation;  // may be null
  std::shared_ptr<const Optimizer> optimizer;
  double clip = 0;  // 0 = off; needs the vote before updates
  OnNan on_nan = OnNan::kStop;
  bool shard_update = false;
  // The saved state to resume from, whose weights `init` reads. Null in a new
  // run.
  std::shared_ptr<const RestoredState> restored;
  // Weights shared by the ranks of this process; null: each rank has a copy.
  std::shared_ptr<SharedWeights> shared;
  // Called before each update, on the rank's thread; may be empty.
  std::function<void(const GradientView& view)> on_gradient;
};

[[nodiscard]] inline at::Device device_of(const TorchComputeOptions& options,
                                          int rank) {
  return options.devices.empty() ? at::Device(at::kCPU)
                                 : options.devices.at(rank);
}

// Location of the first NaN or infinity, decoded from a Ballot's bad_at.
struct BadPlace {
  int micro = 0;  // index over all copies
  int stage = 0;
};
[[nodiscard]] BadPlace bad_place(double bad_at, const Schedule& schedule);

// Makes the compute of one rank; called on the rank's thread. REQUIRES: the
// objects that `options` refers to outlive it.
[[nodiscard]] std::unique_ptr<StageCompute> make_torch_compute(
    const TorchComputeOptions& options, int rank);

// One parameter of a stage. named_weights lists the stage's own parameters
// first, then the tied one.
struct NamedTensor {
  std::string name;
  at::Tensor value;
};
[[nodiscard]] std::vector<NamedTensor> named_weights(
    const TorchComputeOptions& options, int stage, const Weights& weights);

// The layers of each stage.
[[nodiscard]] std::span<const std::unique_ptr<Layer>> layers_of(
    const Model& model, const std::vector<int>& cut, int stage);

}  // namespace chimera
