// GPT-2 and BERT as flat lists of layers: embeddings, blocks, head. The
// arithmetic is Hugging Face's GPT2LMHeadModel and BertForPreTraining, and so
// are names and shapes of the parameters: loading and exporting neither rename
// nor transpose.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chimera/config/run_config.h"
#include "chimera/model/layer.h"

namespace chimera {

// Probabilities, by what is dropped.
struct DropoutRates {
  double embedding = 0;
  double hidden = 0;     // what is added to the residual stream
  double attention = 0;  // attention probabilities

  bool operator==(const DropoutRates&) const = default;
};

struct ModelDetails {
  ModelShape shape;
  DropoutRates dropout;
  double norm_eps = 1e-5;
  int type_vocab = 2;  // BERT: kinds of token types
  // BERT: the input id whose embedding gets no gradient, as in Hugging Face's
  // padding_idx; -1 = none.
  int padding_id = -1;

  bool operator==(const ModelDetails&) const = default;
};

// With the usual values of the kind.
[[nodiscard]] ModelDetails default_details(const ModelShape& shape,
                                           double dropout);

struct Model {
  ModelDetails details;
  std::vector<std::unique_ptr<Layer>> layers;
};

// No weights are made. When the embeddings are tied, the first and the last
// layer list the same parameter.
// REQUIRES: not emulated.
[[nodiscard]] Model make_model(const ModelDetails& details);

// A tied parameter counts once.
[[nodiscard]] std::int64_t parameter_count(const Model& model);

// What balanced_cut (cut.h) weighs.
[[nodiscard]] std::vector<double> forward_flops(const Model& model);

}  // namespace chimera
