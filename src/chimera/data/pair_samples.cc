#include "chimera/data/pair_samples.h"

#include <algorithm>

namespace chimera {

PairSamples::PairSamples(TokenFile tokens, const PairOptions& options)
    : tokens_(std::move(tokens)), options_(options) {
  const std::int64_t longest = options.seq - PairLayout::kSpecials;
  for (const TokenRange& document : tokens_.documents()) {
    for (std::int64_t begin = document.begin; begin + 2 <= document.end;
         begin += longest) {
      spans_.push_back({begin, std::min(begin + longest, document.end)});
    }
  }
  const auto is_short = [&](const TokenRange& span) {
    return span.size() < longest;
  };
  const bool is_one = tokens_.documents().size() == 1;
  if (is_one && spans_.size() > 1 && is_short(spans_.back())) {
    spans_.pop_back();
  }
  is_padded_ = std::any_of(spans_.begin(), spans_.end(), is_short);
  keep(0, size());
}

Masking PairSamples::masking(const Draw& draw) const {
  Draw numbered = draw;
  // Numbered over all files, so that the first samples of two files are masked
  // differently.
  numbered.sample += options_.first_id;
  return {{.seed = options_.seed,
           .vocab = options_.vocab,
           .mask_id = options_.ids.mask},
          numbered};
}

std::int64_t PairSamples::source_of_b(const Draw& draw) const {
  const CounterRandom random(
      RandomUse::kSentencePairs,
      {static_cast<std::uint64_t>(options_.seed),
       static_cast<std::uint64_t>(draw.epoch),
       static_cast<std::uint64_t>(draw.sample + options_.first_id)});
  if (num_kept_ == 1 || random.uniform(0) < 0.5) return draw.sample;
  const auto others = static_cast<std::uint64_t>(num_kept_ - 1);
  const auto other =
      first_kept_ + static_cast<std::int64_t>(random.bits(1) % others);
  // Skips the sample itself, so that all others are equally likely.
  return other < draw.sample ? other : other + 1;
}

PairSamples::Pair PairSamples::pair_of(const Draw& draw) const {
  const auto middle = [](const TokenRange& span) {
    return span.begin + span.size() / 2;
  };
  const std::int64_t other = source_of_b(draw);
  const TokenRange& span = spans_[static_cast<size_t>(draw.sample)];
  const TokenRange& from = spans_[static_cast<size_t>(other)];
  Pair pair{.a = {span.begin, middle(span)},
            .b = {middle(from), from.end},
            .follows = other == draw.sample};
  pair.layout = {.length_a = static_cast<int>(pair.a.size()),
                 .length_b = static_cast<int>(pair.b.size())};
  return pair;
}

void PairSamples::append(const Draw& draw, Batch& batch) const {
  const Pair pair = pair_of(draw);
  const PairLayout& layout = pair.layout;
  const size_t row = batch.inputs.size();
  const auto copy = [&](const TokenRange& range) {
    for (std::int64_t at = range.begin; at < range.end; ++at) {
      batch.inputs.push_back(tokens_[at]);
    }
  };
  batch.inputs.push_back(options_.ids.cls);
  copy(pair.a);
  batch.inputs.push_back(options_.ids.sep);
  copy(pair.b);
  batch.inputs.push_back(options_.ids.sep);

  const size_t end = row + static_cast<size_t>(options_.seq);
  const size_t padding = row + static_cast<size_t>(layout.length());
  batch.inputs.resize(end, options_.ids.pad);
  batch.token_types.resize(row + static_cast<size_t>(layout.begin_b()), 0);
  batch.token_types.resize(padding, 1);
  batch.token_types.resize(end, 0);
  batch.next_sentence.push_back(pair.follows ? 0 : 1);
  if (is_padded_) {
    batch.segments.resize(padding, 0);
    batch.segments.resize(end, 1);
  }

  batch.targets.resize(end, kIgnoredTarget);
  const Masking mask = masking(draw);
  for (const int position : mask.positions(layout)) {
    const size_t at = row + static_cast<size_t>(position);
    batch.targets[at] = batch.inputs[at];
    batch.inputs[at] = mask.input(position, batch.targets[at]);
  }
}

std::int64_t PairSamples::num_targets(const Draw& draw) const {
  const std::vector<int> masked = masking(draw).positions(pair_of(draw).layout);
  return static_cast<std::int64_t>(masked.size());
}

}  // namespace chimera
