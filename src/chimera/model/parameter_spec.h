// Describes a parameter without its values. Torch-free, so that a model can be
// counted, cut and laid out without memory for its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chimera {

// How a parameter is initialised. kOwn: the layer has tensors of its own.
enum class Init { kNormal, kZeros, kOnes, kOwn };

struct ParameterSpec {
  std::string name;                 // the full Hugging Face name
  std::vector<std::int64_t> shape;  // the Hugging Face shape
  Init init = Init::kNormal;
  double std = 0;       // for kNormal
  bool decays = false;  // false for biases, norms and embeddings
  bool tied = false;    // another layer lists it too
  // True if matrix products (or look-ups) read the parameter: in bf16 runs the
  // layer gets it rounded. Other parameters, such as the weights of norms, are
  // never rounded.
  bool in_products = false;

  bool operator==(const ParameterSpec&) const = default;
};

// The number of elements.
[[nodiscard]] inline std::int64_t numel(const ParameterSpec& spec) {
  std::int64_t product = 1;
  for (const std::int64_t size : spec.shape) product *= size;
  return product;
}

}  // namespace chimera
