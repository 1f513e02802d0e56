// The keys of config.json in the two families, which name the same things
// differently: one table for reading and writing.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "chimera/files/hf_config.h"

namespace chimera {

struct HfSizeKey {
  std::string_view name;
  int ModelShape::*field;
  int most;
};

// A key whose value is a number in [0, 1).
struct HfRealKey {
  std::string_view name;
  double HfShape::*field;
};

// A key that changes the computation unless it has this value.
struct HfFixedKey {
  std::string_view name;
  bool value;
};

struct HfFamily {
  ModelKind kind;
  std::string_view architecture;  // in directories that are written
  std::string_view prefix;        // of the names of the base model's tensors
  std::array<HfSizeKey, 5> sizes;
  std::string_view ffn;
  std::string_view activation_key;
  std::string_view activation;
  double layer_norm_epsilon;  // the default if config.json has none
  std::span<const HfRealKey> reals;
  std::span<const HfFixedKey> fixed;
};

// The table of a family. REQUIRES: `kind` is gpt2 or bert.
[[nodiscard]] const HfFamily& hf_family(ModelKind kind);

// The largest count accepted, the same as for keys of run.toml.
inline constexpr int kMostHfCount = 1'000'000;
inline constexpr int kMostHfSize = 100'000'000;

}  // namespace chimera
