// BERT samples cut from a list of tokens: consecutive spans of seq - 3 tokens,
// each cut in halves A and B and laid out as `[CLS] A [SEP] B [SEP]`. In half
// of the samples, anew in each epoch, B is that of another sample; then
// next_sentence is 1, "does not follow". Masked by masking.h.
#pragma once

#include <cstdint>
#include <utility>

#include "chimera/data/batch.h"
#include "chimera/data/masking.h"
#include "chimera/data/order.h"
#include "chimera/data/token_file.h"

namespace chimera {

// bert-base-uncased's ids for .bin files whose vocab has them; otherwise
// control bytes that do not occur in text.
[[nodiscard]] SpecialIds special_ids(DataFormat format, int vocab);

struct PairOptions {
  PairLayout layout;
  SpecialIds ids;
  std::int64_t seed = 0;
  int vocab = 0;
};

class PairSamples {
 public:
  PairSamples(TokenFile tokens, const PairOptions& options)
      : tokens_(std::move(tokens)), options_(options) {}

  [[nodiscard]] std::int64_t size() const {
    return tokens_.size() / options_.layout.span();
  }
  [[nodiscard]] std::int64_t num_tokens() const { return tokens_.size(); }
  void append(const Draw& draw, Batch& batch) const;
  // Draws the masked positions; reads no token.
  [[nodiscard]] std::int64_t num_targets(const Draw& draw) const;

 private:
  [[nodiscard]] Masking masking(const Draw& draw) const;
  // The sample that B comes from: the drawn one, or another.
  [[nodiscard]] std::int64_t source_of_b(const Draw& draw) const;

  TokenFile tokens_;
  PairOptions options_;
};

}  // namespace chimera
