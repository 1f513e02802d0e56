// Which samples a micro-batch holds: copy w takes the w-th share of the
// mini-batch, micro-batch m its m-th share of that.
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
    int micro_batch = 1;  // samples
    // Every micro-batch has its own update, and so its own mean (PipeDream).
    bool mean_of_each = false;
    std::shared_ptr<const BatchSource> training;
    std::shared_ptr<const BatchSource> evaluation;  // may be null
  };
  explicit MicroBatches(Options options) : options_(std::move(options)) {}

  // The first stage reads inputs and the last targets; those between only
  // need to know which samples they see.
  [[nodiscard]] TensorBatch read(const Work& work) const;

  // What a loss of `work` counts in its step's.
  [[nodiscard]] double share_of_step(const Work& work) const;

 private:
  [[nodiscard]] const BatchSource& source(const Work& work) const;
  [[nodiscard]] std::int64_t first_sample(int copy, int micro) const;
  [[nodiscard]] TargetCount targets(const Work& work) const;

  Options options_;
};

}  // namespace chimera
