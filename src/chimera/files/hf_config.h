// Reads config.json of a Hugging Face directory, for the two families this
// engine trains: GPT-2 (GPT2LMHeadModel) and BERT (BertForPreTraining). Keys
// that do not change the numbers are ignored; a key that asks for a different
// computation is refused, because the results would be silently wrong.
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"

namespace chimera {

// The contents of config.json. The kind implies the activation: GPT-2 has
// "gelu_new" (the tanh form), BERT has "gelu" (erf).
struct HfShape {
  ModelShape model;  // seq = positions; the caller may shorten it
  double layer_norm_epsilon = 1e-5;
  int type_vocab = 0;  // token types; BERT only
  // The token whose embedding inputs do not train; -1 = none. BERT only.
  int padding_id = -1;
  // Dropout probabilities the model was trained with, to report or to pass on.
  double embedding_dropout = 0.1;  // BERT: equal to hidden_dropout
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;

  bool operator==(const HfShape&) const = default;
};

[[nodiscard]] Result<HfShape> parse_hf_config(std::string_view text,
                                              const std::string& file_name);

// The text of a config.json. ENSURES: parse_hf_config reads it back as `shape`,
// except seq. REQUIRES: shape.model.kind is gpt2 or bert.
[[nodiscard]] std::string hf_config_text(const HfShape& shape);

}  // namespace chimera
