// Text from a trained model, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "chimera/model/whole_model.h"

namespace chimera {

// How a token is chosen from the logits, as in transformers: logits are divided
// by the temperature, then only the top_k largest are kept, then the fewest
// whose probabilities reach top_p.
struct TokenChoice {
  double temperature = 0.8;  // 0: take the most probable one
  int top_k = 0;             // 0 = all
  double top_p = 1;          // in (0, 1]
  std::uint64_t seed = 0;
};

// Chooses the token at position `index` of a text. The same arguments give the
// same token. REQUIRES: logits (vocab).
[[nodiscard]] std::int64_t choose_token(const at::Tensor& logits,
                                        const TokenChoice& choice,
                                        std::uint64_t index);

struct GenerateOptions {
  int tokens = 100;
  TokenChoice choice;
  // False: reads the whole text again for every token; only for comparison.
  bool use_cache = true;
};

// The largest number of tokens that the model can see at once.
[[nodiscard]] std::int64_t context_length(const ModelShape& shape);

// Calls `take` with each new token until it returns false or all tokens are
// made. A text longer than the context continues from its last half. REQUIRES:
// a causal model; `prompt` is not empty and its ids are below the vocabulary
// size.
void generate(const WholeModel& model, std::vector<std::int64_t> prompt,
              const GenerateOptions& options,
              const std::function<bool(std::int64_t token)>& take);

}  // namespace chimera
