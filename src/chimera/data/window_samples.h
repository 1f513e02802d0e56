// GPT-2 samples: windows of seq + 1 tokens that overlap by one, so that every
// token except the file's first is a target once per epoch. The rest at the end
// of the file is too short for a sample and dropped.
#pragma once

#include <cstdint>
#include <utility>

#include "chimera/data/batch.h"
#include "chimera/data/order.h"
#include "chimera/data/token_file.h"

namespace chimera {

class WindowSamples {
 public:
  WindowSamples(TokenFile tokens, int seq)
      : tokens_(std::move(tokens)), seq_(seq) {}

  [[nodiscard]] std::int64_t size() const {
    return (tokens_.size() - 1) / seq_;
  }
  [[nodiscard]] std::int64_t num_tokens() const { return tokens_.size(); }
  // Sample i: inputs are tokens[i*seq .. i*seq+seq-1], targets are one further.
  void append(const Draw& draw, Batch& batch) const {
    const std::int64_t begin = draw.sample * seq_;
    for (std::int64_t at = begin; at < begin + seq_; ++at) {
      batch.inputs.push_back(tokens_[at]);
      batch.targets.push_back(tokens_[at + 1]);
    }
  }
  [[nodiscard]] std::int64_t num_targets(const Draw&) const { return seq_; }
  [[nodiscard]] static bool has_segments() { return false; }

 private:
  TokenFile tokens_;
  int seq_;
};

}  // namespace chimera
