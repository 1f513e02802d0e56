#include "chimera/plan/builtin_profiles.h"

#include "chimera/plan/profile_text.h"

namespace chimera {

const std::vector<std::string>& builtin_profile_names() {
  static const std::vector<std::string> kNames = {"p100", "v100", "rtx3090",
                                                  "a100", "h100"};
  return kNames;
}

std::optional<Profile> builtin_profile(std::string_view name) {
  const auto read = [&](std::string_view text) {
    return parse_profile(text, std::string(name)).value();
  };
  if (name == "p100") return read(kP100Profile);
  if (name == "v100") return read(kV100Profile);
  if (name == "rtx3090") return read(kRtx3090Profile);
  if (name == "a100") return read(kA100Profile);
  if (name == "h100") return read(kH100Profile);
  return std::nullopt;
}

// Float32 without tensor cores, as NVIDIA publishes it: CUDA cores x 2 (a fused
// multiply-add) x boost clock; bf16 with tensor cores, without sparsity.
// docs/planning.md names the sources.
std::optional<double> builtin_peak_flops(std::string_view name,
                                         Precision precision) {
  const bool bf16 = precision == Precision::kBf16;
  if (name == "p100") return 9.3e12;      // PCIe: 3584 cores x 2 x 1.303 GHz
  if (name == "v100") return 15.7e12;     // SXM2: 5120 cores x 2 x 1.53 GHz
  if (name == "rtx3090") return 35.6e12;  // 10496 cores x 2 x 1.695 GHz
  if (name == "a100") return bf16 ? 312e12 : 19.5e12;
  if (name == "h100") return bf16 ? 989.4e12 : 66.9e12;
  return std::nullopt;
}

}  // namespace chimera
