// Initial values of a parameter, as a function of the seed and the parameter's
// name: every worker of every cut starts with the same weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "chimera/model/parameter_spec.h"

namespace chimera {

// Makes a parameter's initial values as a tensor on the CPU. ENSURES: float32
// values are the float64 values, rounded.
[[nodiscard]] at::Tensor init_parameter(const ParameterSpec& spec,
                                        std::int64_t seed,
                                        at::ScalarType dtype);

}  // namespace chimera
