// What a parameter is before it has values: torch-free, so that a model can be
// counted, cut and laid out without memory for its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chimera {

// kOwn: the layer brings its own tensors.
enum class Init { kNormal, kZeros, kOnes, kOwn };

struct ParameterSpec {
  std::string name;                 // Hugging Face's, in full
  std::vector<std::int64_t> shape;  // Hugging Face's
  Init init = Init::kNormal;
  double std = 0;       // of kNormal
  bool decays = false;  // false for biases, norms and embeddings
  bool tied = false;    // another layer of the model lists it too

  bool operator==(const ParameterSpec&) const = default;
};

// How many numbers it holds.
[[nodiscard]] inline std::int64_t numel(const ParameterSpec& spec) {
  std::int64_t product = 1;
  for (const std::int64_t size : spec.shape) product *= size;
  return product;
}

}  // namespace chimera
