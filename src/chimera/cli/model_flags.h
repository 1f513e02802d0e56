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

// Reads --profile: a profile.toml or a built-in profile; empty: the default
// one. Mistakes are treated as in model_flag().
[[nodiscard]] Profile profile_flag(const std::string& name, Values& values);

// Flags that say which ranks share a node. Empty: as the profile says, in a
// row.
struct NodeFlags {
  std::string ranks, distribution;

  void add_to(Command& command, const std::string& heading = "");
  [[nodiscard]] bool any_given() const {
    return !ranks.empty() || !distribution.empty();
  }
  // Applies the flags to `profile`. Refuses them if the profile has no links
  // within a node (E606).
  void set(Profile& profile, Values& values) const;
};

}  // namespace chimera
