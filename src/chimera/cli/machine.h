// A model on a machine, as `simulate --model --profile` asks for it: what a
// schedule costs there, in seconds and bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/cli/flags.h"
#include "chimera/config/run_config.h"
#include "chimera/console/values.h"
#include "chimera/plan/profile.h"
#include "chimera/schedule/schedule.h"
#include "chimera/simulate/simulate.h"

namespace chimera {

// As typed; empty = not given.
struct MachineFlags {
  std::string model, profile, micro_batch;

  void add_to(Command& command);
  [[nodiscard]] bool any_given() const;
};

class Machine {
 public:
  // What is wrong goes to `values`; the rest is only for when nothing was.
  Machine(const MachineFlags& flags, Values& values);

  // The schedule that the run.toml asks for, lowered as a run does it.
  [[nodiscard]] Result<Schedule> own_schedule() const;
  // Whether the ends of a synchronous schedule share a weight.
  [[nodiscard]] bool is_tied() const;
  // Why the model cannot be cut like this; empty: it can.
  [[nodiscard]] Diagnostics refuse(const Schedule& schedule) const;

  // REQUIRES: refuse() had nothing.
  [[nodiscard]] Costs costs(const Schedule& schedule) const;
  // [worker]; empty for an emulated model.
  [[nodiscard]] std::vector<double> peak_bytes(const Schedule& lowered) const;
  // Memory of one worker by the profile; 0 = not known.
  [[nodiscard]] double memory_bytes() const { return profile_.memory_bytes; }
  // Processors and how they disturb each other, where the profile says so.
  void describe_host(SimulateOptions& options) const;

 private:
  [[nodiscard]] bool is_emulated() const {
    return config_.model.kind == ModelKind::kEmulated;
  }

  RunConfig config_;
  Profile profile_;
  int micro_batch_ = 1;
};

}  // namespace chimera
