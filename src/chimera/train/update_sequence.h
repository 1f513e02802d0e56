// Tells which update follows which samples, and on which weights its gradient
// was computed. Synchronous schemes and 2BW update once per step, PipeDream
// once per micro-batch. Updates are numbered from 0 through the run.
#pragma once

#include <vector>

#include "chimera/model/tensor_batch.h"
#include "chimera/train/setup.h"

namespace chimera {

class UpdateSequence {
 public:
  // REQUIRES: `setup` outlives this object.
  UpdateSequence(const RunSetup& setup, int steps);

  [[nodiscard]] int count() const { return num_updates_; }
  [[nodiscard]] int number(int step, int micro) const;
  [[nodiscard]] int step_of(int update) const;

  // The number of updates that a stage's weights had seen when the gradient of
  // `update` was computed: all earlier ones in synchronous schemes, all but the
  // last in 2BW, all but D - 1 - stage in PipeDream.
  [[nodiscard]] int version(int update, int stage) const;

  // The samples from whose mean loss `update` is computed.
  [[nodiscard]] std::vector<TensorBatch> batches(int update) const;
  // The same samples as the workers compute them: by micro-batches, or halves
  // of them where a backward takes a half.
  [[nodiscard]] std::vector<TensorBatch> parts(int update) const;

 private:
  const RunSetup& setup_;
  bool each_micro_ = false;
  int num_updates_ = 0;
};

}  // namespace chimera
