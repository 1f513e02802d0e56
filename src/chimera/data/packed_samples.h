// Causal samples of whole documents: a row of seq positions takes documents, in
// the file's order, as long as the next one fits; the rest is padding. Each
// position but the last of a document predicts the next token of it, and
// positions see their own document only and count from its begin. A document
// of more than seq + 1 tokens is cut, like a list of windows, into pieces of
// seq positions that each count as a document.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "chimera/data/batch.h"
#include "chimera/data/order.h"
#include "chimera/data/token_file.h"

namespace chimera {

class PackedSamples {
 public:
  // REQUIRES: the file's documents are known.
  PackedSamples(TokenFile tokens, int seq);

  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(rows_.size()) - 1;
  }
  [[nodiscard]] std::int64_t num_tokens() const { return tokens_.size(); }
  void append(const Draw& draw, Batch& batch) const;
  [[nodiscard]] std::int64_t num_targets(const Draw& draw) const;
  [[nodiscard]] static bool has_segments() { return true; }

 private:
  TokenFile tokens_;
  int seq_;
  // Tokens of one document; all but the last are inputs, all but the first
  // targets.
  std::vector<TokenRange> pieces_;
  std::vector<size_t> rows_;  // first piece of each row; then their number
};

}  // namespace chimera
