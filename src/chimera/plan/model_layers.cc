#include "chimera/plan/model_layers.h"

#include <algorithm>

#include "chimera/base/check.h"

namespace chimera {
namespace {

// Share of tokens that BERT's head processes: only the masked ones.
constexpr double kMaskedShare = 0.15;
constexpr double kSentenceTypes = 2;

bool is_bert(ModelKind kind) { return kind == ModelKind::kBert; }
bool is_llama(ModelKind kind) { return kind == ModelKind::kLlama; }

// Numbers per token in a Llama's queries, and in its keys or its values.
double query_width(const LayerShape& shape) {
  return double{1} * shape.heads * shape.head_dim;
}
double key_width(const LayerShape& shape) {
  return double{1} * shape.kv_heads * shape.head_dim;
}

// Number of embedding tables that are added up: tokens, positions, sentence
// types.
double tables(ModelKind kind) {
  if (is_llama(kind)) return 1;
  return is_bert(kind) ? 3 : 2;
}

double table_parameters(const ModelShape& model) {
  return double{1} * model.vocab * model.hidden;
}

// Parameters of the embeddings without the table of tokens.
double embedding_parameters(const ModelShape& model) {
  const double hidden = model.hidden;
  if (is_llama(model.kind)) return 0;
  const double tables = model.positions * hidden;
  // Adds sentence types and a norm with scale and shift.
  return is_bert(model.kind) ? tables + (kSentenceTypes + 2) * hidden : tables;
}

double llama_block_parameters(const ModelShape& model) {
  const LlamaShape& llama = model.llama;
  const double hidden = model.hidden, ffn = model.ffn;
  const double queries = double{1} * model.heads * llama.head_dim;
  const double keys = double{1} * llama.kv_heads * llama.head_dim;
  const double attention = hidden * (2 * queries + 2 * keys);
  const double biases = llama.has_qkv_bias() ? queries + 2 * keys : 0;
  const double norms =
      2 * hidden + (llama.has_qk_norm() ? 2 : 0) * double{1} * llama.head_dim;
  return attention + biases + 3 * hidden * ffn + norms;
}

double block_parameters(const ModelShape& model) {
  if (is_llama(model.kind)) return llama_block_parameters(model);
  const double hidden = model.hidden, ffn = model.ffn;
  const double attention = 4 * hidden * hidden + 4 * hidden;
  const double feed_forward = 2 * hidden * ffn + ffn + hidden;
  const double norms = 4 * hidden;
  return attention + feed_forward + norms;
}

// Parameters of the head besides the matrix over the vocabulary.
double head_parameters(const ModelShape& model) {
  const double hidden = model.hidden, vocab = model.vocab;
  if (is_llama(model.kind)) return hidden;
  const double norm = 2 * hidden;
  if (!is_bert(model.kind)) return norm;
  const double pooler_and_transform = 2 * (hidden * hidden + hidden);
  const double next_sentence = 2 * hidden + 2;
  return norm + vocab + pooler_and_transform + next_sentence;
}

}  // namespace

bool same_work(const LayerShape& a, const LayerShape& b) {
  if (a.kind != b.kind || a.hidden != b.hidden || a.seq != b.seq ||
      a.precision != b.precision) {
    return false;
  }
  if (a.kind == LayerKind::kBlock) {
    return a.heads == b.heads && a.ffn == b.ffn &&
           is_llama(a.model) == is_llama(b.model) && a.kv_heads == b.kv_heads &&
           a.head_dim == b.head_dim;
  }
  return a.model == b.model && a.vocab == b.vocab;
}

LayerFlops forward_flops(const LayerShape& shape) {
  const double tokens = shape.seq, hidden = shape.hidden, vocab = shape.vocab;
  switch (shape.kind) {
    case LayerKind::kEmbedding:
      return {.dense = tables(shape.model) * tokens * hidden};
    case LayerKind::kBlock:
      if (is_llama(shape.model)) {
        return {.dense = 2 * tokens * hidden *
                         (2 * query_width(shape) + 2 * key_width(shape) +
                          3.0 * shape.ffn),
                .attention = 4 * tokens * tokens * query_width(shape)};
      }
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

std::vector<ModelLayer> layers_of(const ModelShape& model,
                                  Precision precision) {
  CHIMERA_CHECK(model.kind != ModelKind::kEmulated, "has no layers");
  const auto layer = [&](LayerKind kind, double parameters) {
    return ModelLayer{
        {kind, model.kind, model.hidden, model.heads, model.ffn, model.seq,
         model.vocab, model.llama.kv_heads, model.llama.head_dim, precision},
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

double number_bytes(Precision precision) {
  return precision == Precision::kBf16 ? 2 : 4;
}

double boundary_bytes(const ModelShape& model, Precision precision) {
  return number_bytes(precision) * model.seq * model.hidden;
}

double estimated_activation_bytes(const LayerShape& shape) {
  const double number = number_bytes(shape.precision);
  const double tokens = shape.seq, hidden = shape.hidden, vocab = shape.vocab;
  switch (shape.kind) {
    case LayerKind::kEmbedding:
      return number * 2 * tokens * hidden;
    case LayerKind::kBlock:
      if (is_llama(shape.model)) {
        // Inputs and outputs of both norms, projections before and after
        // rotation, scores and probabilities, and the four tensors of SwiGLU.
        return number * tokens *
               (4 * hidden + 3 * query_width(shape) + 3 * key_width(shape) +
                4.0 * shape.ffn + 2.5 * shape.heads * tokens);
      }
      return number * tokens *
             (10 * hidden + 2.0 * shape.ffn + 2.5 * shape.heads * tokens);
    case LayerKind::kHead: {
      // Logits and, in float32, their logarithms.
      const double share = is_bert(shape.model) ? kMaskedShare : 1;
      const double copies = shape.precision == Precision::kBf16 ? 1 : 2;
      return number * share * tokens * (copies * vocab + 3 * hidden);
    }
  }
  return 0;
}

double estimated_workspace_bytes(const LayerShape& shape) {
  const double number = number_bytes(shape.precision);
  const double tokens = shape.seq, vocab = shape.vocab;
  switch (shape.kind) {
    case LayerKind::kEmbedding:
      return 0;
    case LayerKind::kBlock:
      return number * tokens *
             std::max(3.0 * shape.heads * tokens, 2.0 * shape.ffn);
    case LayerKind::kHead: {
      const double share = is_bert(shape.model) ? kMaskedShare : 1;
      return number * share * tokens * vocab;
    }
  }
  return 0;
}

}  // namespace chimera
