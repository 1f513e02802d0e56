// The interface of optimizers. The implementations are in the train module; a
// stage only knows where its weights, gradients and states are stored.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace chimera {

// A contiguous range of a stage's weights with its gradient and states, all 1-D
// and of one length.
struct OptimizerSlice {
  at::Tensor weights;
  at::Tensor gradient;
  std::vector<at::Tensor> states;  // one for each of state_names()
  bool decays = false;             // weight decay applies to these weights
  std::int64_t step = 0;           // step of the run, from 0: sets the rate
  std::int64_t updates = 0;        // updates of these weights before this one
};

// Immutable; used by many threads at once.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Names of the numbers kept per weight, as in PyTorch; they start as zeros.
  [[nodiscard]] virtual std::vector<std::string> state_names() const = 0;
  // Updates slice.weights and slice.states in place. ENSURES: an element gets
  // the same bits in any slice that starts at a multiple of kShardGrain.
  virtual void update(const OptimizerSlice& slice) const = 0;
};

}  // namespace chimera
