// The keys of config.json in each family of models, which name the same things
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
  LlamaVariant variant;           // for Llama
  std::string_view model_type;    // in config.json
  std::string_view architecture;  // name in directories written here
  std::string_view prefix;        // prefix of the base model's tensors
  std::array<HfSizeKey, 5> sizes;
  std::string_view ffn;
  std::string_view activation_key;
  std::string_view activation;
  // The values if config.json gives none.
  double layer_norm_epsilon;
  bool tie_embeddings;
  std::span<const HfRealKey> reals;
  std::span<const HfFixedKey> fixed;
};

[[nodiscard]] std::span<const HfFamily* const> hf_families();

// The table of a model's family. REQUIRES: the model is not emulated.
[[nodiscard]] const HfFamily& hf_family(const ModelShape& model);

// The largest count accepted, the same as for keys of run.toml.
inline constexpr int kMostHfCount = 1'000'000;
inline constexpr int kMostHfSize = 100'000'000;

}  // namespace chimera
