// --model and --profile, the flags for model and machine that `plan` and
// `simulate` share.
#pragma once

#include <string>

#include "chimera/config/run_config.h"
#include "chimera/console/values.h"
#include "chimera/plan/profile.h"

namespace chimera {

inline constexpr const char* kDefaultProfile = "p100";

// Reads a run.toml or a preset. Records mistakes in `values` and returns a
// legal stand-in in that case.
[[nodiscard]] RunConfig read_model(const std::string& name, Values& values);

// The same for a profile.toml or a built-in profile; empty: kDefaultProfile.
[[nodiscard]] Profile read_profile(const std::string& name, Values& values);

// Sets the ranks per node from --ranks-per-node as typed; empty: leaves them.
// Refuses it if the profile has no links within a node (E606).
void set_ranks_per_node(const std::string& text, Profile& profile,
                        Values& values);

}  // namespace chimera
