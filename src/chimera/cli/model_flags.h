// --model and --profile: which model, on which machine. `plan` and `simulate`
// share them.
#pragma once

#include <string>

#include "chimera/config/run_config.h"
#include "chimera/console/values.h"
#include "chimera/plan/profile.h"

namespace chimera {

inline constexpr const char* kDefaultProfile = "p100";

// A run.toml or a preset. What is wrong goes to `values`, and something legal
// comes back then.
[[nodiscard]] RunConfig read_model(const std::string& name, Values& values);

// The same of a profile.toml or a built-in profile; empty: kDefaultProfile.
[[nodiscard]] Profile read_profile(const std::string& name, Values& values);

}  // namespace chimera
