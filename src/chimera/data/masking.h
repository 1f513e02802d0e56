// BERT's masking (Devlin et al., NAACL 2019, 3.1): 15 % of the positions are
// targets. Of these, 80 % are replaced by the mask, 10 % by a random id, and 10
// % stay. It depends only on (seed, epoch, sample, position).
#pragma once

#include <cstdint>
#include <vector>

#include "chimera/base/counter_random.h"
#include "chimera/data/order.h"

namespace chimera {

// Positions in a BERT pair, `[CLS] A [SEP] B [SEP] [PAD] ...`.
struct PairLayout {
  int length_a = 0;
  int length_b = 0;

  static constexpr int kSpecials = 3;
  // A and B have one token each.
  static constexpr int kShortest = kSpecials + 2;

  [[nodiscard]] int span() const { return length_a + length_b; }
  [[nodiscard]] int begin_b() const { return length_a + 2; }
  // Number of tokens without the padding.
  [[nodiscard]] int length() const { return span() + kSpecials; }
  // The position of the `index`-th token of A and B.
  [[nodiscard]] int position(int index) const {
    return index < length_a ? index + 1 : index + 2;
  }
};

// The ids of special tokens.
struct SpecialIds {
  int cls = 0;
  int sep = 0;
  int mask = 0;
  int pad = 0;
};

struct MaskingOptions {
  std::int64_t seed = 0;
  int vocab = 0;
  int mask_id = 0;
};

class Masking {
 public:
  Masking(const MaskingOptions& options, const Draw& draw)
      : options_(options),
        random_(RandomUse::kMasking,
                {static_cast<std::uint64_t>(options.seed),
                 static_cast<std::uint64_t>(draw.epoch),
                 static_cast<std::uint64_t>(draw.sample)}) {}

  // The masked positions, ascending. ENSURES: at least one, because a
  // mini-batch without targets has no mean loss.
  [[nodiscard]] std::vector<int> positions(const PairLayout& layout) const;
  // The id that the model sees at a masked position.
  [[nodiscard]] std::int64_t input(int position, std::int64_t original) const;

 private:
  MaskingOptions options_;
  CounterRandom random_;
};

}  // namespace chimera
