// The samples of each micro-batch: copy w takes the w-th share of the
// mini-batch, micro-batch m the m-th share of that.
#pragma once

#include <cstdint>
#include <memory>

#include "chimera/exec/stage_compute.h"
#include "chimera/model/tensor_batch.h"

namespace chimera {

class MicroBatches {
 public:
  struct Options {
    const Schedule& schedule;
    int copy = 0;
    int micro_batch = 1;  // samples per micro-batch
    // True: every micro-batch has its own update, so its loss is averaged
    // separately (PipeDream).
    bool mean_of_each = false;
    std::shared_ptr<const BatchSource> training;
    std::shared_ptr<const BatchSource> evaluation;  // may be null
    at::Device device = at::kCPU;
  };
  explicit MicroBatches(Options options) : options_(std::move(options)) {}

  // Reads the samples of `work`. The first stage reads inputs and the last
  // reads targets; the stages between need only the sample ids and the
  // attention mask.
  [[nodiscard]] TensorBatch read(const Work& work) const;

  // The weight of this micro-batch's loss in the loss of its step.
  [[nodiscard]] double share_of_step(const Work& work) const;

 private:
  [[nodiscard]] const BatchSource& source(const Work& work) const;
  [[nodiscard]] std::int64_t first_sample(int copy, int micro) const;
  [[nodiscard]] TargetCount targets(const Work& work) const;

  Options options_;
};

}  // namespace chimera
