// Reads config.json of a Hugging Face directory, for the models this engine
// trains: GPT-2 (GPT2LMHeadModel), BERT (BertForPreTraining) and the Llama
// family (LlamaForCausalLM and those of Mistral, Qwen2 and Qwen3). Keys that do
// not change the numbers are ignored; a key that asks for a different
// computation is refused, because the results would be silently wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"

namespace chimera {

// The contents of config.json. The kind implies the activation: GPT-2 has
// "gelu_new" (the tanh form), BERT has "gelu" (erf), Llama "silu".
struct HfShape {
  ModelShape model;  // seq = positions; the caller may shorten it
  double layer_norm_epsilon = 1e-5;
  int type_vocab = 0;  // token types; BERT only
  // The token whose embedding is not trained through the inputs; -1 = none.
  // BERT only.
  int padding_id = -1;
  // Dropout probabilities that the model was trained with, to report or to pass
  // on.
  double embedding_dropout = 0.1;  // BERT: equal to hidden_dropout; Llama: 0
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  // Tokens that begin a text (-1 = none) and that end one, to pass on. Llama
  // only.
  int bos_id = -1;
  std::vector<int> eos_ids = {};

  bool operator==(const HfShape&) const = default;
};

[[nodiscard]] Result<HfShape> parse_hf_config(std::string_view text,
                                              const std::string& file_name);

// The text of a config.json. ENSURES: parse_hf_config reads it back as `shape`,
// except seq. REQUIRES: the model is not emulated.
[[nodiscard]] std::string hf_config_text(const HfShape& shape);

}  // namespace chimera
