// The number formats that a run computes in.
#pragma once

#include <c10/core/ScalarType.h>

#include "chimera/config/names.h"

namespace chimera {

struct Formats {
  // Format of weights, gradients, sums, gradient norms and optimizer states.
  at::ScalarType numbers = at::kFloat;
  // Format of activations, their gradients, and the weights that matrix
  // products read. If it differs from `numbers`, those weights exist in both
  // formats.
  at::ScalarType products = at::kFloat;

  bool operator==(const Formats&) const = default;
};

// The formats of a run of this precision.
[[nodiscard]] inline Formats formats_of(Precision precision) {
  return {.products =
              precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat};
}

}  // namespace chimera
