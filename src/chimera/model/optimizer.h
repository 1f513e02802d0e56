// How weights change by their gradients. The implementations are in the train
// module; a stage only knows where its weights, gradients and states lie.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace chimera {

// A contiguous range of a stage's weights, all 1-D and of one length.
struct OptimizerSlice {
  at::Tensor weights;
  at::Tensor gradient;
  std::vector<at::Tensor> states;  // one for each of state_names()
  bool decays = false;             // weights that usually decay
  std::int64_t step = 0;           // of the run, from 0: sets the rate
  std::int64_t updates = 0;        // of these weights, before this one
};

// Immutable; used by many threads at once.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Numbers kept per weight, by PyTorch's names; they start as zeros.
  [[nodiscard]] virtual std::vector<std::string> state_names() const = 0;
  // Changes slice.weights and slice.states in place. The same element gives
  // the same bits in any slice that starts at a multiple of kShardGrain.
  virtual void update(const OptimizerSlice& slice) const = 0;
};

}  // namespace chimera
