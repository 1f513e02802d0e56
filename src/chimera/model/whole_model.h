// A model with all of its weights in one process and without gradients, for
// commands that use a trained model instead of training one.
#pragma once

#include <memory>
#include <vector>

#include "chimera/model/kv_cache.h"
#include "chimera/model/model.h"
#include "chimera/model/parameter_block.h"
#include "chimera/model/tensor_batch.h"

namespace chimera {

class WholeModel {
 public:
  // Takes the weights from `init`; asks for a tied weight only once.
  WholeModel(Model model, const ParameterInit& init);

  [[nodiscard]] const ModelDetails& details() const { return model_.details; }
  [[nodiscard]] std::size_t num_layers() const { return model_.layers.size(); }

  // The loss of these samples, without dropout.
  [[nodiscard]] double loss(const TensorBatch& batch) const;

  // Stores `tokens` in `cache` and returns the logits (vocab) of the token that
  // follows them. REQUIRES: a causal model; see KvCache::extend.
  [[nodiscard]] at::Tensor next_logits(const std::vector<std::int64_t>& tokens,
                                       KvCache& cache) const;

 private:
  [[nodiscard]] at::Tensor run(const TensorBatch& batch, KvCache* cache) const;

  Model model_;
  std::vector<std::vector<at::Tensor>> weights_;  // [layer][parameter]
};

}  // namespace chimera
