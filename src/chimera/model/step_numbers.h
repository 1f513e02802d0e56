// The numbers that a rank's ballot needs: losses, sums of outputs, squared
// norms. They stay on the rank's device until all are read together, because
// each read makes the host wait for the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "chimera/comm/ballot.h"

namespace chimera {

// Losses and output checks of one step's forwards, kept for the step's vote.
class StepNumbers {
 public:
  // Adds share * loss to the step's loss.
  void add_loss(const at::Tensor& loss, double share);
  // `place` is where the vote reports an output that is not finite.
  void check_output(const at::Tensor& output, double place);

  // Returns this rank's ballot: its loss, the first output that is not finite,
  // and the sum of `squared_norms`. Waits for the device once.
  [[nodiscard]] Ballot read(const std::vector<at::Tensor>& squared_norms) const;

 private:
  struct Number {
    at::Tensor value;   // of no dimension
    double factor = 0;  // share of a loss, or place of an output
  };

  std::vector<Number> losses_;
  std::vector<Number> output_sums_;
};

}  // namespace chimera
