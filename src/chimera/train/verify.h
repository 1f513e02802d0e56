// Proves that a layout trains exactly. The gradients that the workers are about
// to apply, after all sums, are compared with those of the unsplit model on the
// same weights and the same mini-batch.
//
// Asynchronous schemes compute gradients on older weights, by definition. For
// them the unsplit model gets each stage's weights from as many updates ago as
// their papers say (PipeDream: D - 1 - s on stage s; 2BW: 1 everywhere).
//
// In bf16 the unsplit model rounds at the same places, over the same
// micro-batches (and halves) one after another, and adds up their gradients in
// float32. So the tolerances of float32 hold: only the order of sums differs.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "chimera/train/setup.h"

namespace chimera {

struct VerifyOptions {
  int steps = 3;
  // kFloat: as the run trains, in its precision. kDouble: all in float64.
  at::ScalarType dtype = at::kFloat;
};

// Compares one tensor of one step. It passes if difference <= allowed. In
// float32 `allowed` is 1e-5 * largest gradient of the tensor + 1e-7 * norm of
// the whole gradient; in float64 the factors are 1e-12 and 1e-14.
struct TensorCheck {
  std::string name;
  int step = 0;  // from 1
  double difference = 0;
  double allowed = 0;
  double largest = 0;

  [[nodiscard]] bool passes() const { return difference <= allowed; }
};

struct LossCheck {
  double loss = 0;
  double reference = 0;
  bool passes = false;
};

struct VerifyReport {
  std::vector<LossCheck> losses;    // by step
  std::vector<TensorCheck> checks;  // worst first
  // Tensors whose replicas differ in any bit, in weights or gradients.
  std::vector<std::string> unequal_replicas;

  [[nodiscard]] bool passes() const;
};

// REQUIRES: the model is not emulated. Throws what train() throws.
[[nodiscard]] VerifyReport verify(const RunSetup& setup,
                                  const VerifyOptions& options);

}  // namespace chimera
