// Trains user-defined layers through any schedule: layers take the place of
// [model], and a batch source that of [data]. examples/03_train_your_own_model
// is the shortest use.
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
  // In order: the first layer reads context.batch, the last returns the loss.
  // No two layers share a parameter. Layers from make_module_layer are trained
  // in place: their modules hold the learned weights once train() returns.
  std::vector<std::unique_ptr<Layer>> layers;
  // Fills context.batch. Null: numbered_samples of the mini-batch's size.
  std::shared_ptr<const BatchSource> data;
  std::shared_ptr<const BatchSource> evaluation;  // may be null
};

// Batches that hold only sample_ids, which count on from step to step, for
// layers that make or look up their own tensors by id. Every sample counts
// once: the loss is divided by total.samples.
[[nodiscard]] std::shared_ptr<const BatchSource> numbered_samples(
    std::int64_t global_batch);

// The functions below are the parts of set_up() for user-defined layers.

// Returns the errors that a run.toml of the same content would have.
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
// Initial values are those of the modules; `seed` is used for layers without a
// module.
[[nodiscard]] ParameterInit init_from(const Model& model, std::int64_t seed);
// Copies the weights into the modules, by name. Layers without a module have no
// place for them.
void adopt_weights(const Model& model, WeightReader& weights);

}  // namespace chimera
