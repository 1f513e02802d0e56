// How rank 0 gets at the weights when a run ends.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "chimera/model/parameter_spec.h"

namespace chimera {

// The model's parameters at the end of a run, as rank 0 reads them: one at a
// time and as often as it likes, so that they never lie in its memory together.
class WeightReader {
 public:
  WeightReader() = default;
  WeightReader(const WeightReader&) = delete;
  WeightReader& operator=(const WeightReader&) = delete;
  virtual ~WeightReader() = default;

  // Every parameter of the model, once, in the order of its layers.
  [[nodiscard]] virtual const std::vector<ParameterSpec>& parameters()
      const = 0;
  // The weights of one of them, by its place in parameters().
  [[nodiscard]] virtual at::Tensor read(std::size_t parameter) = 0;
};

}  // namespace chimera
