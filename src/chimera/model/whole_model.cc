#include "chimera/model/whole_model.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <map>
#include <string>
#include <utility>

#include "chimera/base/check.h"

namespace chimera {

WholeModel::WholeModel(Model model, const ParameterInit& init)
    : model_(std::move(model)) {
  std::map<std::string, at::Tensor> by_name;
  for (const std::unique_ptr<Layer>& layer : model_.layers) {
    std::vector<at::Tensor>& mine = weights_.emplace_back();
    for (const ParameterSpec& spec : layer->parameters()) {
      at::Tensor& value = by_name[spec.name];
      if (!value.defined()) value = init(spec).to(at::kFloat);
      mine.push_back(value);
    }
  }
}

at::Tensor WholeModel::run(const TensorBatch& batch, KvCache* cache) const {
  const c10::NoGradGuard no_grad;
  at::Tensor x;
  for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) {
    x = model_.layers[layer]->forward(x, weights_[layer],
                                      {.batch = batch,
                                       .training = false,
                                       .layer = static_cast<int>(layer),
                                       .cache = cache});
  }
  return x;
}

double WholeModel::loss(const TensorBatch& batch) const {
  return run(batch, nullptr).item<double>();
}

at::Tensor WholeModel::next_logits(const std::vector<std::int64_t>& tokens,
                                   KvCache& cache) const {
  CHIMERA_CHECK(is_causal(details().shape.kind), "BERT predicts no next token");
  const auto count = static_cast<std::int64_t>(tokens.size());
  const at::Tensor inputs = at::tensor(tokens, at::kLong).view({1, count});
  const at::Tensor logits = run({.inputs = inputs}, &cache);
  cache.add_length(count);
  return logits.view({-1});
}

}  // namespace chimera
