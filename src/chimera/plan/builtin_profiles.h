// Profiles that come with the program: p100 (the machine of the paper), v100,
// rtx3090, a100 and h100. Their texts are the files of profiles/, in the format
// of profile_text.h, which the build embeds; a user can copy and change one.
//
// Times and activations of one block of the first three are those of PipeFisher
// (Osawa, Li, Hoefler: MLSys 2023), which measured only whole backwards. The
// weight half gets its share of the backward's FLOPs: half of all FLOPs except
// attention's. Workspace is the memory that a backward needs, while it runs, in
// addition to activations and gradients.
//
// A100 and H100 were not measured. A block's time is its FLOPs over the card's
// published peak rate and an assumed efficiency: forward 2 FLOPs for each
// multiply-add of the weights (dense) and of attention, input half dense + 2
// attention, weight half dense. It is proportional to the micro-batch, so small
// layers, which use a GPU badly, look too fast.
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
extern const std::string_view kA100Profile;
extern const std::string_view kH100Profile;

[[nodiscard]] const std::vector<std::string>& builtin_profile_names();

// Empty if there is no profile of this name.
[[nodiscard]] std::optional<Profile> builtin_profile(std::string_view name);

// Peak floating-point operations per second of one worker, as stated by the
// maker: float32 without tensor cores; for a100 and h100 also bf16 with them.
// Empty if there is no such profile.
[[nodiscard]] std::optional<double> builtin_peak_flops(
    std::string_view name, Precision precision = Precision::kFloat32);

}  // namespace chimera
