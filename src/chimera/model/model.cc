#include "chimera/model/model.h"

#include <set>
#include <string>

#include "chimera/base/check.h"
#include "chimera/model/transformers.h"

namespace chimera {

ModelDetails default_details(const ModelShape& shape, double dropout) {
  const bool bert = shape.kind == ModelKind::kBert;
  const bool llama = shape.kind == ModelKind::kLlama;
  return {.shape = shape,
          .dropout = llama ? DropoutRates{.attention = dropout}
                           : DropoutRates{dropout, dropout, dropout},
          .norm_eps = bert ? 1e-12 : 1e-5,
          .padding_id = bert ? 0 : -1};
}

Model make_model(const ModelDetails& details) {
  switch (details.shape.kind) {
    case ModelKind::kGpt2:
      return {details, gpt2_layers(details)};
    case ModelKind::kBert:
      return {details, bert_layers(details)};
    case ModelKind::kLlama:
      return {details, llama_layers(details)};
    case ModelKind::kEmulated:
      break;
  }
  throw InternalError("an emulated model has no layers");
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  std::set<std::string> seen;
  for (const auto& layer : model.layers) {
    for (const ParameterSpec& spec : layer->parameters()) {
      if (seen.insert(spec.name).second) count += numel(spec);
    }
  }
  return count;
}

std::vector<double> forward_flops(const Model& model) {
  std::vector<double> flops;
  for (const auto& layer : model.layers) {
    flops.push_back(layer->forward_flops());
  }
  return flops;
}

}  // namespace chimera
