// Lets rank 0 read the weights when a run ends.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "chimera/model/parameter_spec.h"

namespace chimera {

// The model's parameters at the end of a run. Rank 0 reads one at a time, and
// each as often as it likes, so that they are never in its memory all at once.
class WeightReader {
 public:
  WeightReader() = default;
  WeightReader(const WeightReader&) = delete;
  WeightReader& operator=(const WeightReader&) = delete;
  virtual ~WeightReader() = default;

  // Every parameter of the model once, in the order of its layers.
  [[nodiscard]] virtual const std::vector<ParameterSpec>& parameters()
      const = 0;
  // The weights of one parameter, by its index in parameters().
  [[nodiscard]] virtual at::Tensor read(std::size_t parameter) = 0;
};

}  // namespace chimera
