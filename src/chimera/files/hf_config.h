// config.json of a Hugging Face directory, for the two families this engine
// trains: GPT-2 (GPT2LMHeadModel) and BERT (BertForPreTraining). Keys that do
// not change the numbers are ignored; a key that asks for another computation
// than ours is refused, because wrong results would be silent.
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"

namespace chimera {

// What config.json says. The activation goes with the kind: GPT-2 has
// "gelu_new" (the tanh form), BERT has "gelu" (erf).
struct HfShape {
  ModelShape model;  // seq = positions; the caller may shorten it
  double layer_norm_epsilon = 1e-5;
  int type_vocab = 0;  // token types; BERT only
  // The word whose embedding is not trained by inputs; -1 = none. BERT only.
  int padding_id = -1;
  // Probabilities the model was trained with, to report or to pass on.
  double embedding_dropout = 0.1;  // BERT: as hidden_dropout
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;

  bool operator==(const HfShape&) const = default;
};

[[nodiscard]] Result<HfShape> parse_hf_config(std::string_view text,
                                              const std::string& file_name);

// ENSURES: parse_hf_config gives back `shape`, but for its seq.
// REQUIRES: shape.model.kind is gpt2 or bert.
[[nodiscard]] std::string hf_config_text(const HfShape& shape);

}  // namespace chimera
