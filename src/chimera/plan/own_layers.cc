#include "chimera/plan/own_layers.h"

#include "chimera/plan/builtin_profiles.h"

namespace chimera {
namespace {

struct Floats {
  double kept = 0;       // held from F to the backward
  double workspace = 0;  // extra while a backward runs
  // Between I and W: inputs and output gradients of matrix products.
  double deferred = 0;
  double input_workspace = 0;  // extra while I runs, besides `deferred`
};

Floats per_token_of_block(const LayerShape& shape) {
  const double hidden = shape.hidden, ffn = shape.ffn;
  const double statistics = 2.0 * shape.heads;  // of the fused attention
  if (shape.model != ModelKind::kLlama) {
    return {8 * hidden + 2 * ffn + statistics, ffn, 8 * hidden + 2 * ffn,
            2 * ffn - hidden};
  }
  const double query = double{1} * shape.heads * shape.head_dim;
  const double key = double{1} * shape.kv_heads * shape.head_dim;
  const double linear = 4 * hidden + 2 * query + 2 * key;
  return {linear + 4 * ffn + statistics, 2 * ffn, linear + 3 * ffn, 3 * ffn};
}

Floats per_token(const LayerShape& shape) {
  const double hidden = shape.hidden, vocab = shape.vocab;
  const bool is_bert = shape.model == ModelKind::kBert;
  switch (shape.kind) {
    case LayerKind::kEmbedding:
      return is_bert ? Floats{2 * hidden, hidden, hidden, hidden}
                     : Floats{hidden, 0, hidden, 0};
    case LayerKind::kBlock:
      return per_token_of_block(shape);
    case LayerKind::kHead: {
      const double share = is_bert ? 0.15 : 1;  // only masked tokens
      return {share * (vocab + (is_bert ? 6 : 1) * hidden), share * 2 * vocab,
              share * (vocab + (is_bert ? 3 : 1) * hidden), share * 2 * vocab};
    }
  }
  return {};
}

}  // namespace

Profile own_layers(const ModelConfig& model) {
  Profile profile = *builtin_profile("p100");
  if (model.dropout.value_or(0) > 0) return profile;  // attention is not fused
  const std::vector<ModelLayer> layers = layers_of(shape_of(model));
  for (const ModelLayer* layer : {&layers[0], &layers[1], &layers.back()}) {
    const Floats floats = per_token(layer->shape);
    const double sample_bytes = sizeof(float) * double{1} * layer->shape.seq;
    profile.layers.push_back(
        {.name = "own",
         .shape = layer->shape,
         .table = {.micro_batch = {1},
                   .forward_s = {1},
                   .input_grad_s = {1},
                   .weight_grad_s = {1},
                   .activation_bytes = {sample_bytes * floats.kept},
                   .workspace_bytes = {sample_bytes * floats.workspace},
                   .deferred_bytes = {sample_bytes * floats.deferred},
                   .input_workspace_bytes = {sample_bytes *
                                             floats.input_workspace}}});
  }
  return profile;
}

}  // namespace chimera
