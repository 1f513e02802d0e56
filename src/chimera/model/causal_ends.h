// The first and the last layer of the causal models, GPT-2 and the Llama
// family. The models differ only in the names of the parameters, in learned
// positions and in the kind of the last norm.
#pragma once

#include <memory>
#include <string>

#include "chimera/model/model.h"

namespace chimera {

// Hugging Face's parameter names, without ".weight".
struct CausalNames {
  std::string tokens;
  std::string positions;  // empty: no learned positions
  std::string last_norm;
};

// Looks up the tokens, and adds learned positions if the model has them.
[[nodiscard]] std::unique_ptr<Layer> make_causal_embeddings(
    const ModelDetails& details, const CausalNames& names);

// Normalises and computes the loss, or in generation the last token's logits.
[[nodiscard]] std::unique_ptr<Layer> make_causal_head(
    const ModelDetails& details, const CausalNames& names);

}  // namespace chimera
