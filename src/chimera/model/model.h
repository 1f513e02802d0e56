// GPT-2, BERT and the Llama family as lists of layers: embeddings, blocks,
// head. The arithmetic, names and shapes are those of Hugging Face's
// GPT2LMHeadModel, BertForPreTraining and LlamaForCausalLM, so loading and
// exporting neither rename nor transpose.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chimera/config/run_config.h"
#include "chimera/model/layer.h"

namespace chimera {

// Dropout probabilities of the three places that have dropout.
struct DropoutRates {
  double embedding = 0;
  double hidden = 0;     // before additions to the residual stream
  double attention = 0;  // attention probabilities

  bool operator==(const DropoutRates&) const = default;
};

struct ModelDetails {
  ModelShape shape;
  DropoutRates dropout;
  double norm_eps = 1e-5;
  int type_vocab = 2;  // BERT: number of token types
  // BERT: the token id whose embedding gets no gradient, like Hugging Face's
  // padding_idx; -1 = none.
  int padding_id = -1;

  bool operator==(const ModelDetails&) const = default;
};

// The details with the default values of the shape's kind.
[[nodiscard]] ModelDetails default_details(const ModelShape& shape,
                                           double dropout);

// The shape of a layer's output without its first dimension, the samples.
struct BoundaryShape {
  std::vector<std::int64_t> sizes;
  at::ScalarType type = at::kFloat;
};

struct Model {
  ModelDetails details;
  std::vector<std::unique_ptr<Layer>> layers;
  // [layer], except the last: the shape of its output. Set for user-defined
  // layers; empty for transformers, whose layers all pass on (seq, hidden).
  std::vector<BoundaryShape> boundaries;
};

// Makes the layers, but no weights. If embeddings are tied, the first and the
// last layer list the same parameter.
// REQUIRES: the model is not emulated.
[[nodiscard]] Model make_model(const ModelDetails& details);

// The number of parameters. A tied parameter counts once.
[[nodiscard]] std::int64_t parameter_count(const Model& model);

// [layer]: floating-point operations of one sample's forward, which
// balanced_cut (cut.h) balances.
[[nodiscard]] std::vector<double> forward_flops(const Model& model);

}  // namespace chimera
