// A model of one's own through any schedule: layers instead of [model], and
// what they read instead of [data]. examples/03_train_your_own_model is the
// shortest use.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/data/batch.h"
#include "chimera/model/model.h"
#include "chimera/model/torch_compute.h"
#include "chimera/schedule/schedule.h"
#include "chimera/train/weight_reader.h"

namespace chimera {

struct OwnModel {
  // In order; the first reads context.batch, the last returns the loss. No two
  // share a parameter. Those from make_module_layer are trained in place: their
  // modules hold the learned weights once train() returns.
  std::vector<std::unique_ptr<Layer>> layers;
  // What context.batch holds. Null: numbered_samples of the mini-batch's size.
  std::shared_ptr<const BatchSource> data;
  std::shared_ptr<const BatchSource> evaluation;  // may be null
};

// Batches of sample_ids alone, counting on from step to step, for layers that
// make or look up their own tensors by them. Every sample counts once: the loss
// is divided by total.samples.
[[nodiscard]] std::shared_ptr<const BatchSource> numbered_samples(
    std::int64_t global_batch);

// The parts of set_up() for such a model.

// What would be wrong with a run.toml that says the same.
[[nodiscard]] Diagnostics check_as_file(RunConfig config);
[[nodiscard]] Diagnostics check_own_model(const OwnModel& own,
                                          const Schedule& schedule);
[[nodiscard]] Model model_of(std::vector<std::unique_ptr<Layer>> layers);
// Runs one micro-batch through all layers but the last to learn the shapes of
// their outputs, which a receiver in another process must know. The modules
// themselves are not changed: clones of them run.
// E568 if an output does not count its samples in its first dimension.
[[nodiscard]] Result<std::vector<BoundaryShape>> find_boundaries(
    const Model& model, const TensorBatch& batch);
// The values that its modules have; `seed` is for layers without any.
[[nodiscard]] ParameterInit init_from(const Model& model, std::int64_t seed);
// Gives its modules the values of the same names. Other layers have no place
// for them.
void adopt_weights(const Model& model, WeightReader& weights);

}  // namespace chimera
