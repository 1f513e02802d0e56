// --model and --profile, the flags for model and machine that `plan` and
// `simulate` share.
#pragma once

#include <string>

#include "chimera/cli/command.h"
#include "chimera/config/run_config.h"
#include "chimera/console/values.h"
#include "chimera/plan/profile.h"

namespace chimera {

// Reads --model: a run.toml or a preset. Records mistakes in `values` and
// returns a legal stand-in in that case.
[[nodiscard]] RunConfig model_flag(const std::string& name, Values& values);

// The same for --profile: a profile.toml or a built-in profile; empty: the
// default one.
[[nodiscard]] Profile profile_flag(const std::string& name, Values& values);

// Flags that say which ranks share a node. Empty: as the profile says, in a
// row.
struct NodeFlags {
  std::string ranks, distribution;

  void add_to(Command& command, const std::string& heading = "");
  [[nodiscard]] bool any_given() const {
    return !ranks.empty() || !distribution.empty();
  }
  // Refuses what is given for a profile without links within a node (E606).
  void set(Profile& profile, Values& values) const;
};

}  // namespace chimera
