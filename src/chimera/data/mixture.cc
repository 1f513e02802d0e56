#include "chimera/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chimera {

Mixture::Mixture(MixtureOptions options) : options_(std::move(options)) {
  const std::vector<double>& weights = options_.weights;
  const auto total = static_cast<double>(std::accumulate(
      options_.sizes.begin(), options_.sizes.end(), std::int64_t{0}));
  const double all_weights =
      std::accumulate(weights.begin(), weights.end(), 0.0);
  std::int64_t first = 0;
  std::int64_t end = 0;
  for (size_t part = 0; part < options_.sizes.size(); ++part) {
    firsts_.push_back(first);
    first += options_.sizes[part];
    const std::int64_t share =
        weights.empty()
            ? options_.sizes[part]
            : std::max<std::int64_t>(
                  1, std::llround(total * weights[part] / all_weights));
    end += share;
    ends_.push_back(end);
  }
}

Draw Mixture::draw(std::int64_t number) const {
  const Draw all = draw_of(
      number,
      {.order = options_.order, .seed = options_.seed, .num_samples = size()});
  if (options_.weights.empty()) return all;
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), all.sample);
  const auto part = static_cast<size_t>(end - ends_.begin());
  const std::int64_t begin = part == 0 ? 0 : ends_[part - 1];
  // Number of earlier draws from this part, over all epochs.
  const std::int64_t before = all.epoch * (*end - begin) + all.sample - begin;
  const Draw own = draw_of(before, {.order = options_.order,
                                    .seed = options_.seed,
                                    .num_samples = options_.sizes[part]});
  return {.number = number,
          .epoch = own.epoch,
          .sample = firsts_[part] + own.sample};
}

}  // namespace chimera
