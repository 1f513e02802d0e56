// The model and machine of `simulate --model --profile`: what a schedule costs
// there, in seconds and bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/cli/flags.h"
#include "chimera/cli/model_flags.h"
#include "chimera/config/run_config.h"
#include "chimera/console/values.h"
#include "chimera/plan/profile.h"
#include "chimera/schedule/schedule.h"
#include "chimera/simulate/simulate.h"

namespace chimera {

// Flags as typed; empty = not given.
struct MachineFlags {
  std::string model, profile, micro_batch, buckets;
  NodeFlags nodes;

  void add_to(Command& command);
  [[nodiscard]] bool any_given() const;
};

class Machine {
 public:
  // Records mistakes in `values`. All other functions REQUIRE that there were
  // none.
  Machine(const MachineFlags& flags, Values& values);

  // The schedule of the run.toml, lowered as a run lowers it.
  [[nodiscard]] Result<Schedule> own_schedule() const;
  // Whether the first and last stage of the schedule share a weight.
  [[nodiscard]] bool ties(const Schedule& schedule) const;
  // Reasons why the model cannot be cut for this schedule; empty if it can.
  [[nodiscard]] Diagnostics refuse(const Schedule& schedule) const;

  // REQUIRES: refuse() returned nothing.
  [[nodiscard]] Costs costs(const Schedule& schedule) const;
  // [worker]; empty for an emulated model.
  [[nodiscard]] std::vector<double> peak_bytes(const Schedule& lowered) const;
  // Memory of one worker by the profile; 0 = unknown.
  [[nodiscard]] double memory_bytes() const { return profile_.memory_bytes; }
  // Replaces the profile's omega: the share of an activation held between I and
  // W.
  void count_omega(double omega) { profile_.omega = omega; }
  // Sets the shared cores and their contention, if the profile has them.
  void describe_host(SimulateOptions& options) const;

 private:
  [[nodiscard]] bool is_emulated() const {
    return config_.model.kind == ModelKind::kEmulated;
  }
  [[nodiscard]] bool is_tied() const;
  // The configuration with its cut. A run.toml without a cut is left to be cut
  // as `train` does; a preset, which belongs to no run, is cut as `plan` does.
  [[nodiscard]] RunConfig cut_for(const Schedule& schedule) const;

  RunConfig config_;
  Profile profile_;
  bool is_preset_ = false;
  int micro_batch_ = 1;
  int buckets_ = 1;  // parts of a gradient sum that run at once
};

}  // namespace chimera
