// Computes the loss of a whole model over a data file, without a pipeline.
#pragma once

#include <cstdint>
#include <functional>

#include "chimera/data/batch.h"
#include "chimera/model/whole_model.h"

namespace chimera {

struct Evaluation {
  double loss = 0;           // mean over all targets of the file
  std::int64_t samples = 0;  // number of samples in the file
  std::int64_t tokens = 0;   // number of input tokens
  double seconds = 0;        // spent on reading and forwards
};

// Runs every sample once, `batch` at a time. `on_batch` is called with the
// tokens done and the seconds spent so far; it may be empty. REQUIRES: `source`
// is in sequential order and has `batch` samples per step.
[[nodiscard]] Evaluation evaluate(
    const WholeModel& model, const BatchSource& source, std::int64_t batch,
    const std::function<void(std::int64_t tokens, double seconds)>& on_batch =
        {});

}  // namespace chimera
