// The values a parameter starts with: a function of the seed and the
// parameter's name, so every worker of every cut starts equal.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "chimera/model/parameter_spec.h"

namespace chimera {

// A plain tensor, on the CPU. float32 values are float64's, rounded.
[[nodiscard]] at::Tensor init_parameter(const ParameterSpec& spec,
                                        std::int64_t seed,
                                        at::ScalarType dtype);

}  // namespace chimera
