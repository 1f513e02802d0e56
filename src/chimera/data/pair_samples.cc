#include "chimera/data/pair_samples.h"

namespace chimera {

SpecialIds special_ids(DataFormat format, int vocab) {
  constexpr SpecialIds kBertBaseUncased{.cls = 101, .sep = 102, .mask = 103};
  constexpr SpecialIds kControlBytes{.cls = 1, .sep = 2, .mask = 3};
  const bool has_them = vocab > kBertBaseUncased.mask;
  return format == DataFormat::kBin && has_them ? kBertBaseUncased
                                                : kControlBytes;
}

Masking PairSamples::masking(const Draw& draw) const {
  return {{.seed = options_.seed,
           .vocab = options_.vocab,
           .mask_id = options_.ids.mask},
          draw};
}

std::int64_t PairSamples::source_of_b(const Draw& draw) const {
  const CounterRandom random(RandomUse::kSentencePairs,
                             {static_cast<std::uint64_t>(options_.seed),
                              static_cast<std::uint64_t>(draw.epoch),
                              static_cast<std::uint64_t>(draw.sample)});
  if (size() == 1 || random.uniform(0) < 0.5) return draw.sample;
  const auto others = static_cast<std::uint64_t>(size() - 1);
  const auto other = static_cast<std::int64_t>(random.bits(1) % others);
  return other < draw.sample ? other : other + 1;
}

void PairSamples::append(const Draw& draw, Batch& batch) const {
  const PairLayout& layout = options_.layout;
  const std::int64_t other = source_of_b(draw);
  const size_t row = batch.inputs.size();
  const auto copy = [&](std::int64_t sample, int from, int to) {
    const std::int64_t begin = sample * layout.span();
    for (int index = from; index < to; ++index) {
      batch.inputs.push_back(tokens_[begin + index]);
    }
  };
  batch.inputs.push_back(options_.ids.cls);
  copy(draw.sample, 0, layout.length_a());
  batch.inputs.push_back(options_.ids.sep);
  copy(other, layout.length_a(), layout.span());
  batch.inputs.push_back(options_.ids.sep);

  const auto length = static_cast<size_t>(layout.seq);
  batch.token_types.resize(row + length, 1);
  std::fill_n(batch.token_types.begin() + static_cast<std::ptrdiff_t>(row),
              layout.begin_b(), 0);
  batch.next_sentence.push_back(other == draw.sample ? 0 : 1);

  batch.targets.resize(row + length, kIgnoredTarget);
  const Masking mask = masking(draw);
  for (const int position : mask.positions(layout)) {
    const size_t at = row + static_cast<size_t>(position);
    batch.targets[at] = batch.inputs[at];
    batch.inputs[at] = mask.input(position, batch.targets[at]);
  }
}

std::int64_t PairSamples::num_targets(const Draw& draw) const {
  const std::vector<int> masked = masking(draw).positions(options_.layout);
  return static_cast<std::int64_t>(masked.size());
}

}  // namespace chimera
