#include "chimera/data/data_source.h"

#include <numeric>

#include "chimera/base/check.h"

namespace chimera {

DataSource::DataSource(const DataOptions& options, Samples samples)
    : seq_(options.seq),
      global_batch_(options.global_batch),
      shift_(options.shift),
      samples_(std::move(samples)),
      order_{.order = options.order,
             .seed = options.seed,
             .num_samples =
                 std::visit([](const auto& s) { return s.size(); }, samples_)} {
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
    std::visit(
        [&](const auto& samples) {
          samples.append(draw_of(number, order_), batch);
        },
        samples_);
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
  if (std::holds_alternative<WindowSamples>(samples_)) {
    return {.tokens = global_batch_ * seq_, .samples = 0};
  }
  TargetCount count{.tokens = 0, .samples = global_batch_};
  const std::int64_t begin = step * global_batch_ + shift_;
  for (std::int64_t number = begin; number < begin + global_batch_; ++number) {
    count.tokens += std::visit(
        [&](const auto& samples) {
          return samples.num_targets(draw_of(number, order_));
        },
        samples_);
  }
  return count;
}

std::int64_t DataSource::num_tokens() const {
  return std::visit([](const auto& samples) { return samples.num_tokens(); },
                    samples_);
}

}  // namespace chimera
