#include "chimera/data/data_source.h"

#include <algorithm>
#include <numeric>

#include "chimera/base/check.h"

namespace chimera {

DataSource::DataSource(const DataOptions& options, std::vector<File> files)
    : seq_(options.seq),
      global_batch_(options.global_batch),
      shift_(options.shift),
      files_(std::move(files)) {
  MixtureOptions mixture{
      .order = options.order,
      .seed = options.seed,
      .sizes = std::vector<std::int64_t>(options.paths.size(), 0),
      .weights = options.weights};
  std::int64_t end = 0;
  for (const File& file : files_) {
    end += file.count;
    ends_.push_back(end);
    mixture.sizes[file.entry] += file.count;
    has_segments_ = has_segments_ ||
                    std::visit([](const auto& s) { return s.has_segments(); },
                               file.samples);
  }
  mixture_ = Mixture(std::move(mixture));
}

DataSource::Found DataSource::find(std::int64_t number) const {
  Draw draw = mixture_.draw(number);
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), draw.sample);
  const File& file = files_[static_cast<size_t>(end - ends_.begin())];
  draw.sample -= *end - file.count;
  draw.sample += file.first;
  return {.file = file, .draw = draw};
}

Batch DataSource::read(std::int64_t step, std::int64_t first,
                       std::int64_t count) const {
  CHIMERA_CHECK(
      step >= 0 && first >= 0 && count >= 0 && first + count <= global_batch_,
      "no such samples in a step");
  Batch batch{.samples = static_cast<int>(count), .seq = seq_};
  const auto tokens = static_cast<size_t>(count * seq_);
  batch.inputs.reserve(tokens);
  batch.targets.reserve(tokens);
  batch.sample_ids = sample_ids(step, first, count);
  for (const std::int64_t number : batch.sample_ids) {
    const Found found = find(number);
    std::visit([&](const auto& samples) { samples.append(found.draw, batch); },
               found.file.samples);
    // Files without padding get segments too if any other file has them.
    if (has_segments_) batch.segments.resize(batch.inputs.size(), 0);
  }
  return batch;
}

std::vector<std::int64_t> DataSource::sample_ids(std::int64_t step,
                                                 std::int64_t first,
                                                 std::int64_t count) const {
  std::vector<std::int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), step * global_batch_ + shift_ + first);
  return ids;
}

TargetCount DataSource::targets(std::int64_t step) const {
  if (std::holds_alternative<WindowSamples>(files_[0].samples)) {
    return {.tokens = global_batch_ * seq_, .samples = 0};
  }
  const bool has_pairs =
      !std::holds_alternative<PackedSamples>(files_[0].samples);
  TargetCount count{.samples = has_pairs ? global_batch_ : 0};
  const std::int64_t begin = step * global_batch_ + shift_;
  for (std::int64_t number = begin; number < begin + global_batch_; ++number) {
    const Found found = find(number);
    count.tokens += std::visit(
        [&](const auto& samples) { return samples.num_targets(found.draw); },
        found.file.samples);
  }
  return count;
}

std::int64_t DataSource::num_tokens() const {
  std::int64_t tokens = 0;
  for (const File& file : files_) {
    tokens +=
        std::visit([](const auto& s) { return s.num_tokens(); }, file.samples);
  }
  return tokens;
}

}  // namespace chimera
