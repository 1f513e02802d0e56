// Profiles that come with the program: p100 (the machine of the paper), v100
// and rtx3090. Their texts are files of profiles/, in the format of
// profile_text.h, so that a user can print one and change it.
//
// Times and activations of one block are those of PipeFisher (Osawa, Li,
// Hoefler: MLSys 2023), which measured only whole backwards. The weight half
// gets its share of the backward's FLOPs: half of all FLOPs except attention's.
// Workspace is the memory that a backward needs, while it runs, in addition to
// activations and gradients.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/plan/profile.h"

namespace chimera {

extern const std::string_view kP100Profile;
extern const std::string_view kV100Profile;
extern const std::string_view kRtx3090Profile;

[[nodiscard]] const std::vector<std::string>& builtin_profile_names();

// Empty if there is no profile of this name.
[[nodiscard]] std::optional<Profile> builtin_profile(std::string_view name);

// Peak floating-point operations per second of one worker, as stated by the
// maker: float32, no tensor cores. Empty if there is no such profile.
[[nodiscard]] std::optional<double> builtin_peak_flops(std::string_view name);

}  // namespace chimera
