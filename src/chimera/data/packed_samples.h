// Causal samples of whole documents. A row of seq positions takes documents in
// the file's order as long as the next one fits; the rest is padding. Each
// position except the last of a document predicts its next token. Positions see
// only their own document and count from its start. A document of more than seq
// + 1 tokens is cut into pieces of seq positions, each of which counts as a
// document.
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
  // REQUIRES: `tokens` has documents.
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
  // Tokens of one document. All but the last are inputs, all but the first are
  // targets.
  std::vector<TokenRange> pieces_;
  std::vector<size_t> rows_;  // first piece of each row, then their total
};

}  // namespace chimera
