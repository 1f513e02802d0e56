// A model with all of its weights in one process, without gradients: for
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
  // The weights are what `init` gives; a tied one is asked for once.
  WholeModel(Model model, const ParameterInit& init);

  [[nodiscard]] const ModelDetails& details() const { return model_.details; }
  [[nodiscard]] std::size_t num_layers() const { return model_.layers.size(); }

  // The loss of these samples, without dropout.
  [[nodiscard]] double loss(const TensorBatch& batch) const;

  // The logits (vocab) of the token behind `tokens`, which are stored in
  // `cache`. REQUIRES: a causal model; as KvCache::extend.
  [[nodiscard]] at::Tensor next_logits(const std::vector<std::int64_t>& tokens,
                                       KvCache& cache) const;

 private:
  [[nodiscard]] at::Tensor run(const TensorBatch& batch, KvCache* cache) const;

  Model model_;
  std::vector<std::vector<at::Tensor>> weights_;  // [layer][parameter]
};

}  // namespace chimera
