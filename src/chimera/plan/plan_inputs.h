// The model and the machine to plan for, each by name or from a file.
#pragma once

#include <optional>
#include <string>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/plan/plan.h"

namespace chimera {

inline constexpr const char* kDefaultProfile = "p100";

// Reads a preset or a run.toml. A model without a shape is refused (E604).
[[nodiscard]] Result<RunConfig> read_model(const std::string& name);

// Reads a built-in profile or a profile.toml; empty: kDefaultProfile.
[[nodiscard]] Result<Profile> read_profile(const std::string& name);

// A request with the model of a run.toml and all that its keys say about memory
// and time. Machine, workers and batch are left to the caller.
[[nodiscard]] PlanRequest request_of(const RunConfig& config);

// Says why `ranks` of a node, asked for as `found`, are not possible: E403, or
// E606 if the profile has no links within a node. No `ranks` leaves them as
// they are.
[[nodiscard]] Diagnostics check_nodes(const Profile& profile,
                                      const std::string& found,
                                      std::optional<int> ranks);

}  // namespace chimera
