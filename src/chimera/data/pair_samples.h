// BERT samples: a span of at most seq - 3 tokens of one document, divided into
// halves A and B and laid out as `[CLS] A [SEP] B [SEP]`, then padding. In half
// of the samples, chosen anew in each epoch, B is taken from another sample,
// and next_sentence is 1, "does not follow". masking.h masks them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "chimera/data/batch.h"
#include "chimera/data/masking.h"
#include "chimera/data/order.h"
#include "chimera/data/token_file.h"

namespace chimera {

struct PairOptions {
  int seq = 0;  // at least PairLayout::kShortest
  SpecialIds ids;
  std::int64_t seed = 0;
  int vocab = 0;
  std::int64_t first_id = 0;  // id of the first sample; keys random choices
};

class PairSamples {
 public:
  // Cuts each document into spans. The rest at its end becomes a shorter span,
  // unless it is a single token or the file has only one document (so that long
  // files need no padding). REQUIRES: `tokens` has documents.
  PairSamples(TokenFile tokens, const PairOptions& options);

  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(spans_.size());
  }
  [[nodiscard]] std::int64_t num_tokens() const { return tokens_.size(); }
  void append(const Draw& draw, Batch& batch) const;
  // Draws the masked positions without reading any token.
  [[nodiscard]] std::int64_t num_targets(const Draw& draw) const;
  // True if any sample is shorter than seq.
  [[nodiscard]] bool has_segments() const { return is_padded_; }
  // From now on takes B only from samples first .. first + count - 1.
  void keep(std::int64_t first, std::int64_t count) {
    first_kept_ = first;
    num_kept_ = count;
  }

 private:
  struct Pair {
    TokenRange a, b;
    PairLayout layout;
    bool follows = true;
  };
  [[nodiscard]] Pair pair_of(const Draw& draw) const;
  // The sample that half B is taken from: the drawn sample itself or another
  // one.
  [[nodiscard]] std::int64_t source_of_b(const Draw& draw) const;
  [[nodiscard]] Masking masking(const Draw& draw) const;

  TokenFile tokens_;
  PairOptions options_;
  std::vector<TokenRange> spans_;
  bool is_padded_ = false;
  std::int64_t first_kept_ = 0;
  std::int64_t num_kept_ = 0;
};

}  // namespace chimera
