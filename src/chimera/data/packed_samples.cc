#include "chimera/data/packed_samples.h"

#include <algorithm>

namespace chimera {

PackedSamples::PackedSamples(TokenFile tokens, int seq)
    : tokens_(std::move(tokens)), seq_(seq) {
  for (const TokenRange& document : tokens_.documents()) {
    for (std::int64_t begin = document.begin; begin + 2 <= document.end;
         begin += seq) {
      pieces_.push_back({begin, std::min(begin + seq + 1, document.end)});
    }
  }
  std::int64_t used = seq;  // positions used in the row
  for (size_t piece = 0; piece < pieces_.size(); ++piece) {
    const std::int64_t length = pieces_[piece].size() - 1;
    if (used + length > seq) {
      rows_.push_back(piece);
      used = 0;
    }
    used += length;
  }
  rows_.push_back(pieces_.size());
}

void PackedSamples::append(const Draw& draw, Batch& batch) const {
  const auto row = static_cast<size_t>(draw.sample);
  const size_t end = batch.inputs.size() + static_cast<size_t>(seq_);
  std::int64_t segment = 0;
  for (size_t piece = rows_[row]; piece < rows_[row + 1]; ++piece, ++segment) {
    const TokenRange& range = pieces_[piece];
    for (std::int64_t at = range.begin; at + 1 < range.end; ++at) {
      batch.inputs.push_back(tokens_[at]);
      batch.targets.push_back(tokens_[at + 1]);
      batch.segments.push_back(segment);
      batch.positions.push_back(at - range.begin);
    }
  }
  batch.inputs.resize(end, 0);
  batch.targets.resize(end, kIgnoredTarget);
  batch.segments.resize(end, segment);
  batch.positions.resize(end, 0);
}

std::int64_t PackedSamples::num_targets(const Draw& draw) const {
  const auto row = static_cast<size_t>(draw.sample);
  std::int64_t targets = 0;
  for (size_t piece = rows_[row]; piece < rows_[row + 1]; ++piece) {
    targets += pieces_[piece].size() - 1;
  }
  return targets;
}

}  // namespace chimera
