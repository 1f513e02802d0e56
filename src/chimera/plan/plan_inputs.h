// The model and the machine to plan for, each by name or from a file.
#pragma once

#include <string>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/plan/profile.h"

namespace chimera {

inline constexpr const char* kDefaultProfile = "p100";

// Reads a preset or a run.toml. A model without a shape is refused (E604).
[[nodiscard]] Result<RunConfig> read_model(const std::string& name);

// Reads a built-in profile or a profile.toml; empty: kDefaultProfile.
[[nodiscard]] Result<Profile> read_profile(const std::string& name);

}  // namespace chimera
