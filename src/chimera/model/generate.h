// Text from a trained model, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "chimera/model/whole_model.h"

namespace chimera {

// How a token is chosen from the logits, as in transformers: divided by the
// temperature, then the top_k largest, then the fewest whose probabilities sum
// to top_p.
struct TokenChoice {
  double temperature = 0.8;  // 0: always the most probable one
  int top_k = 0;             // 0 = all
  double top_p = 1;          // in (0, 1]
  std::uint64_t seed = 0;
};

// The token number `index` of a text. The same arguments give the same token.
// REQUIRES: logits (vocab).
[[nodiscard]] std::int64_t choose_token(const at::Tensor& logits,
                                        const TokenChoice& choice,
                                        std::uint64_t index);

struct GenerateOptions {
  int tokens = 100;
  TokenChoice choice;
  // False: every token reads the whole text again. For comparison only.
  bool use_cache = true;
};

// The most tokens that the model sees at once.
[[nodiscard]] std::int64_t context_length(const ModelShape& shape);

// Calls `take` with each new token until it returns false or all are there. A
// text longer than the context goes on from the last half of it.
// REQUIRES: a causal model; `prompt` is not empty, its ids are below the
// vocabulary.
void generate(const WholeModel& model, std::vector<std::int64_t> prompt,
              const GenerateOptions& options,
              const std::function<bool(std::int64_t token)>& take);

}  // namespace chimera
