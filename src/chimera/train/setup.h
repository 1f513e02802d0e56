// From a RunConfig to everything that a run needs: schedule proven, model cut,
// files opened and checked. Whatever is wrong is said here, all at once, before
// anything runs or is written.
//
// Codes of its own (besides those of schedules, data and directories):
//   E564 something that this build cannot do
//   E565 a shape in run.toml that model.init contradicts
//   E568 user-defined layers that cannot be cut into stages
//   E569 evaluation without data
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

// Where training begins: fresh weights, or those of a checkpoint.
struct StartPoint {
  int step = 0;  // steps done
  ParameterInit init;
  std::shared_ptr<const RestoredState> restored;  // null if fresh
  // Of sample numbers: those before may have come in other mini-batches.
  std::int64_t sample_shift = 0;
};

struct RunSetup {
  RunConfig config;   // with the shape filled in
  Schedule schedule;  // lowered
  // What to go over to after schedule.replan_after steps, where a file says so.
  std::optional<Schedule> later;  // lowered
  bool tied = false;              // its first and last stage share a weight
  int threads = 1;                // of each worker

  std::vector<EmulatedStage> emulated;  // of an emulated model only

  // Of any other model.
  Model model;
  HfShape hf_shape;      // how the model is written
  std::vector<int> cut;  // first layer of each stage
  std::shared_ptr<const BatchSource> data;
  std::shared_ptr<const BatchSource> evaluation;  // may be null
  StartPoint start;
  // The workers that are left save the run when one is lost.
  bool recovers = false;
  std::vector<std::string> notices;  // for the user
  // What ranks are called in messages; empty: "worker 2".
  std::vector<std::string> rank_names;

  [[nodiscard]] bool is_emulated() const { return !emulated.empty(); }
  // Whether the layers are user-defined: there is no Hugging Face shape then.
  [[nodiscard]] bool has_own_model() const {
    return hf_shape.model.layers == 0 && !is_emulated();
  }
  [[nodiscard]] std::int64_t global_batch() const;
};

struct SetupOptions {
  int host_cores = 1;
  int ranks_here = 0;           // that share them; 0 = all ranks of the run
  std::string checkpoint = {};  // to go on from; empty: from the begin
  bool scans_data = true;       // false: another rank does
};

// REQUIRES: check_for_training() is content.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up(
    const RunConfig& config, const SetupOptions& options);

// The same for a model of one's own; see own_model.h. What [model] and [data]
// say is not read, and all else is checked here.
[[nodiscard]] Result<std::unique_ptr<RunSetup>> set_up(
    const RunConfig& config, const SetupOptions& options, OwnModel own);

// For `setup` as it stands; the caller adds hooks.
[[nodiscard]] TorchComputeOptions compute_options(const RunSetup& setup,
                                                  at::ScalarType dtype);

}  // namespace chimera
