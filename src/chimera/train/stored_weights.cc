#include "chimera/train/stored_weights.h"

#include <ATen/ATen.h>

#include <map>

#include "chimera/files/hf_match.h"
#include "chimera/model/initial_weights.h"

namespace chimera {
namespace {

std::vector<ExpectedTensor> expected_tensors(const Model& model) {
  std::map<std::string, ExpectedTensor> expected;
  for (const std::unique_ptr<Layer>& layer : model.layers) {
    for (const ParameterSpec& spec : layer->parameters()) {
      const bool head = spec.name.starts_with("cls.") ||
                        spec.name.starts_with("bert.pooler.");
      expected[spec.name] = {
          .name = spec.name, .shape = spec.shape, .may_be_missing = head};
    }
  }
  std::vector<ExpectedTensor> list;
  list.reserve(expected.size());
  for (auto& [name, tensor] : expected) list.push_back(tensor);
  return list;
}

at::Tensor read_tensor(const StoredTensor& stored) {
  at::Tensor values = at::empty(stored.info->shape, at::kFloat);
  stored.file->copy_as_float(*stored.info,
                             {values.mutable_data_ptr<float>(),
                              static_cast<std::size_t>(values.numel())});
  return values;
}

}  // namespace

Result<StoredWeights> find_weights(
    const std::shared_ptr<const HfDirectory>& directory, const Model& model,
    std::int64_t seed) {
  const std::vector<ExpectedTensor> expected = expected_tensors(model);
  const Result<MatchedTensors> matched = match_tensors(*directory, expected);
  if (!matched) return matched.errors();
  std::map<std::string, StoredTensor> stored;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    stored[expected[i].name] = matched->tensors[i];
  }
  const auto init = [directory, stored, seed](const ParameterSpec& spec) {
    const StoredTensor& tensor = stored.at(spec.name);
    if (tensor.info == nullptr) return init_parameter(spec, seed, at::kFloat);
    return read_tensor(tensor);
  };
  return StoredWeights{.init = init, .fresh = matched->fresh};
}

ModelDetails details_of(const HfShape& shape, int seq) {
  ModelDetails details = default_details(shape.model, 0);
  details.shape.seq = seq;
  details.norm_eps = shape.layer_norm_epsilon;
  details.dropout = {.embedding = shape.embedding_dropout,
                     .hidden = shape.hidden_dropout,
                     .attention = shape.attention_dropout};
  if (shape.model.kind == ModelKind::kBert) {
    details.type_vocab = shape.type_vocab;
    details.padding_id = shape.padding_id;
  }
  return details;
}

}  // namespace chimera
