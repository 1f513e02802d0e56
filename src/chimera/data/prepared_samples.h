// BERT samples that another program has cut and masked, one JSON object per
// line:
//
//   {"input_ids": [...], "token_type_ids": [...], "labels": [...],
//    "next_sentence_label": 0}
//
// They are used unchanged, so that losses can be compared with those of other
// programs. Names and values are Hugging Face's: a label of -100 does not
// count, and next_sentence_label is 1 if the second sentence does not follow
// the first. An attention_mask may be 0 at padding.
#pragma once

#include <cstdint>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/data/batch.h"
#include "chimera/data/jsonl.h"
#include "chimera/data/order.h"

namespace chimera {

struct PreparedOptions {
  int seq = 0;
  int vocab = 0;
  int type_vocab = 2;
};

class PreparedSamples {
 public:
  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(next_sentence_.size());
  }
  [[nodiscard]] std::int64_t num_tokens() const {
    return static_cast<std::int64_t>(inputs_.size());
  }
  void append(const Draw& draw, Batch& batch) const;
  [[nodiscard]] std::int64_t num_targets(const Draw& draw) const;
  // True if any sample has padding.
  [[nodiscard]] bool has_segments() const { return !segments_.empty(); }

 private:
  friend Result<PreparedSamples> read_prepared(const JsonlText& jsonl,
                                               const PreparedOptions& options);
  int seq_ = 0;
  std::vector<std::int32_t> inputs_;       // (size, seq)
  std::vector<std::int32_t> targets_;      // (size, seq)
  std::vector<std::int32_t> token_types_;  // (size, seq)
  std::vector<std::int8_t> next_sentence_;
  std::vector<std::int8_t> segments_;  // (size, seq), 1 = padding; or empty
};

[[nodiscard]] Result<PreparedSamples> read_prepared(
    const JsonlText& jsonl, const PreparedOptions& options);

}  // namespace chimera
