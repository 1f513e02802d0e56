// Turns a RunConfig into everything that a run needs: schedule proven, model
// cut, files opened and checked. All mistakes are reported here at once, before
// anything runs or is written.
//
// Error codes besides those of schedules, data and directories:
//   E564 something that this build cannot do
//   E565 a shape in run.toml that model.init contradicts
//   E568 user-defined layers that cannot be cut into stages
//   E569 evaluation without data
//   E577 a device that is not here, or not for these workers (devices.h)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/exec/emulated.h"
#include "chimera/files/hf_config.h"
#include "chimera/model/torch_compute.h"
#include "chimera/train/own_model.h"

namespace chimera {

// The state in which training begins: fresh weights, or a checkpoint.
struct StartPoint {
  int step = 0;  // steps done
  ParameterInit init;
  std::shared_ptr<const RestoredState> restored;  // null if fresh
  // Added to sample numbers, because the steps before the checkpoint may have
  // had mini-batches of another size.
  std::int64_t sample_shift = 0;
};

struct RunSetup {
  RunConfig config;   // with the shape filled in
  Schedule schedule;  // lowered
  // The order to change to after schedule.replan_after steps, if a file gives
  // it.
  std::optional<Schedule> later;    // lowered
  bool tied = false;                // its first and last stage share a weight
  int threads = 1;                  // of each worker
  std::vector<at::Device> devices;  // [rank]

  std::vector<EmulatedStage> emulated;  // of an emulated model only

  // The members below are set for all models that are not emulated.
  Model model;
  HfShape hf_shape;      // how the model is exported
  std::vector<int> cut;  // first layer of each stage
  std::shared_ptr<const BatchSource> data;
  std::shared_ptr<const BatchSource> evaluation;  // may be null
  StartPoint start;
  // If a rank is lost, the others save the run.
  bool recovers = false;
  std::vector<std::string> notices;  // for the user
  // Names of the ranks in messages; empty: "worker 2".
  std::vector<std::string> rank_names;

  [[nodiscard]] bool is_emulated() const { return !emulated.empty(); }
  // Whether the layers are user-defined. Such a model has no Hugging Face
  // shape.
  [[nodiscard]] bool has_own_model() const {
    return hf_shape.model.layers == 0 && !is_emulated();
  }
  [[nodiscard]] std::int64_t global_batch() const;
};

struct SetupOptions {
  int host_cores = 1;
  int ranks_here = 0;           // ranks on this host; 0 = all ranks
  int local_rank = 0;           // index of this process on its host
  std::string checkpoint = {};  // to resume from; empty: start at step 0
  bool scans_data = true;       // false: another rank scans it
};

// REQUIRES: check_for_training() found no errors.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up(
    const RunConfig& config, const SetupOptions& options);

// The same for user-defined layers; see own_model.h. [model] and [data] are not
// read; everything else is checked here.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up(
    const RunConfig& config, const SetupOptions& options, OwnModel own);

// The compute options of `setup`. The caller adds hooks.
[[nodiscard]] TorchComputeOptions compute_options(const RunSetup& setup,
                                                  const Formats& formats);

}  // namespace chimera
