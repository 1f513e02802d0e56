// The words of config.json by which the two families name the same things:
// one table for reading and writing.
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

// A number in [0, 1).
struct HfRealKey {
  std::string_view name;
  double HfShape::*field;
};

// A key with which the model is another one unless it has this value.
struct HfFixedKey {
  std::string_view name;
  bool value;
};

struct HfFamily {
  ModelKind kind;
  std::string_view architecture;  // of the directories we write
  std::string_view prefix;        // of the base model's tensors
  std::array<HfSizeKey, 5> sizes;
  std::string_view ffn;
  std::string_view activation_key;
  std::string_view activation;
  double layer_norm_epsilon;  // if config.json does not say
  std::span<const HfRealKey> reals;
  std::span<const HfFixedKey> fixed;
};

// REQUIRES: gpt2 or bert.
[[nodiscard]] const HfFamily& hf_family(ModelKind kind);

// The limits of run.toml's own keys.
inline constexpr int kMostHfCount = 1'000'000;
inline constexpr int kMostHfSize = 100'000'000;

}  // namespace chimera
