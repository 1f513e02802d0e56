#include "chimera/plan/model_layers.h"

#include <algorithm>

#include "chimera/base/check.h"

namespace chimera {
namespace {

constexpr double kFloat = 4;  // bytes
// BERT's head looks at masked tokens only.
constexpr double kMaskedShare = 0.15;
constexpr double kSentenceTypes = 2;

bool is_bert(ModelKind kind) { return kind == ModelKind::kBert; }

double table_parameters(const ModelShape& model) {
  return double{1} * model.vocab * model.hidden;
}

// Without the table of tokens.
double embedding_parameters(const ModelShape& model) {
  const double hidden = model.hidden;
  const double tables = model.positions * hidden;
  // Sentence types and a norm of scale and shift.
  return is_bert(model.kind) ? tables + (kSentenceTypes + 2) * hidden : tables;
}

double block_parameters(const ModelShape& model) {
  const double hidden = model.hidden, ffn = model.ffn;
  const double attention = 4 * hidden * hidden + 4 * hidden;
  const double feed_forward = 2 * hidden * ffn + ffn + hidden;
  const double norms = 4 * hidden;
  return attention + feed_forward + norms;
}

// Without the matrix of tokens.
double head_parameters(const ModelShape& model) {
  const double hidden = model.hidden, vocab = model.vocab;
  const double norm = 2 * hidden;
  if (!is_bert(model.kind)) return norm;
  const double pooler_and_transform = 2 * (hidden * hidden + hidden);
  const double next_sentence = 2 * hidden + 2;
  return norm + vocab + pooler_and_transform + next_sentence;
}

}  // namespace

bool same_work(const LayerShape& a, const LayerShape& b) {
  if (a.kind != b.kind || a.hidden != b.hidden || a.seq != b.seq) return false;
  if (a.kind == LayerKind::kBlock) return a.heads == b.heads && a.ffn == b.ffn;
  return a.model == b.model && a.vocab == b.vocab;
}

LayerFlops forward_flops(const LayerShape& shape) {
  const double tokens = shape.seq, hidden = shape.hidden, vocab = shape.vocab;
  switch (shape.kind) {
    case LayerKind::kEmbedding:
      return {.dense = (is_bert(shape.model) ? 3 : 2) * tokens * hidden};
    case LayerKind::kBlock:
      return {
          .dense = 2 * tokens * (4 * hidden * hidden + 2 * hidden * shape.ffn),
          .attention = 4 * tokens * tokens * hidden};
    case LayerKind::kHead:
      if (!is_bert(shape.model)) return {.dense = 2 * tokens * hidden * vocab};
      return {.dense = 2 * kMaskedShare * tokens * hidden * (hidden + vocab) +
                       2 * hidden * (hidden + 2)};
  }
  return {};
}

std::vector<ModelLayer> layers_of(const ModelShape& model) {
  CHIMERA_CHECK(model.kind != ModelKind::kEmulated, "has no layers");
  const auto layer = [&](LayerKind kind, double parameters) {
    return ModelLayer{{kind, model.kind, model.hidden, model.heads, model.ffn,
                       model.seq, model.vocab},
                      parameters};
  };
  std::vector<ModelLayer> layers = {
      layer(LayerKind::kEmbedding, embedding_parameters(model))};
  layers.insert(layers.end(), model.layers,
                layer(LayerKind::kBlock, block_parameters(model)));
  layers.push_back(layer(LayerKind::kHead, head_parameters(model)));
  for (ModelLayer* end : {&layers.front(), &layers.back()}) {
    double& table =
        model.tie_embeddings ? end->tied_parameters : end->parameters;
    table += table_parameters(model);
  }
  return layers;
}

double boundary_bytes(const ModelShape& model) {
  return kFloat * model.seq * model.hidden;
}

double estimated_activation_bytes(const LayerShape& shape) {
  const double tokens = shape.seq, hidden = shape.hidden, vocab = shape.vocab;
  switch (shape.kind) {
    case LayerKind::kEmbedding:
      return kFloat * 2 * tokens * hidden;
    case LayerKind::kBlock:
      return kFloat * tokens *
             (10 * hidden + 2.0 * shape.ffn + 2.5 * shape.heads * tokens);
    case LayerKind::kHead: {
      // Logits and their logarithms.
      const double share = is_bert(shape.model) ? kMaskedShare : 1;
      return kFloat * share * tokens * (2 * vocab + 3 * hidden);
    }
  }
  return 0;
}

double estimated_workspace_bytes(const LayerShape& shape) {
  const double tokens = shape.seq, vocab = shape.vocab;
  switch (shape.kind) {
    case LayerKind::kEmbedding:
      return 0;
    case LayerKind::kBlock:
      return kFloat * tokens *
             std::max(3.0 * shape.heads * tokens, 2.0 * shape.ffn);
    case LayerKind::kHead: {
      const double share = is_bert(shape.model) ? kMaskedShare : 1;
      return kFloat * share * tokens * vocab;
    }
  }
  return 0;
}

}  // namespace chimera
