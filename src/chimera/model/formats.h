// The number formats that a run computes in.
#pragma once

#include <c10/core/ScalarType.h>

namespace chimera {

struct Formats {
  // Weights, gradients, sums, norms of gradients, optimizer states.
  at::ScalarType numbers = at::kFloat;
  // Activations and their gradients, and the weights that matrix products read.
  // If it differs from `numbers`, those weights exist twice.
  at::ScalarType products = at::kFloat;

  bool operator==(const Formats&) const = default;
};

}  // namespace chimera
