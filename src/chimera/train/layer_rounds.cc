#include "chimera/train/layer_rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

namespace chimera {
namespace {

// Standard deviation over mean, without the slowest tenth: what a busy machine
// adds now and then is not the layer's.
double spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.resize(std::max<std::size_t>(1, values.size() * 9 / 10));
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size())) / mean;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// The deviation of a normal time of which two workers' differ by so much on
// average. Of all pairs the mean, as that is what waiting goes with.
double deviation_of(const std::vector<double>& times) {
  double apart = 0;
  for (const double one : times) {
    for (const double other : times) apart += std::abs(one - other);
  }
  const auto count = static_cast<double>(times.size());
  return apart / (count * (count - 1)) * std::sqrt(std::numbers::pi) / 2;
}

}  // namespace

LayerRounds::LayerRounds(Meeting& meeting, const LayerBenchOptions& options,
                         int busy)
    : meeting_(meeting),
      micro_batch_(options.micro_batch),
      busy_(busy),
      bench_(options),
      bytes_(bench_.measure_bytes()) {
  const Clock::time_point start = Clock::now();
  (void)bench_.time_once();
  seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
}

void LayerRounds::run() {
  meeting_.agree(0);
  if (meeting_.rank() == 0) alone_.push_back(bench_.time_once());
  meeting_.agree(0);
  if (busy_ == 1 || meeting_.size() < busy_) return;
  LayerTimes block;
  if (meeting_.rank() < busy_) block = bench_.time_once().layers[1];
  std::vector<Both>& ranks = together_.emplace_back();
  for (int rank = 0; rank < busy_; ++rank) {
    ranks.push_back({meeting_.agree(block.forward, rank),
                     meeting_.agree(block.backward, rank)});
  }
}

LayerSummary LayerRounds::summary() const {
  LayerSummary summary;
  const auto usual = [&](const auto& value_of) {
    std::vector<double> values;
    values.reserve(alone_.size());
    for (const BenchTimes& times : alone_) values.push_back(value_of(times));
    return mean(values);
  };
  for (int kind = 0; kind < kLayerKinds; ++kind) {
    const auto of = [&](double LayerTimes::*what) {
      return usual(
          [&](const BenchTimes& times) { return times.layers[kind].*what; });
    };
    summary.times.layers[kind] = {
        of(&LayerTimes::forward), of(&LayerTimes::backward),
        of(&LayerTimes::input_grad), of(&LayerTimes::weight_grad)};
    std::vector<double> sums;
    sums.reserve(alone_.size());
    for (const BenchTimes& times : alone_) {
      sums.push_back(times.layers[kind].forward + times.layers[kind].backward);
    }
    summary.spread[kind] = spread_of(std::move(sums));
  }
  summary.times.update_per_parameter =
      usual([](const BenchTimes& times) { return times.update_per_parameter; });
  if (!together_.empty()) compare_ranks(summary);
  return summary;
}

void LayerRounds::compare_ranks(LayerSummary& summary) const {
  std::vector<double> blocks, deviations;
  for (const std::vector<Both>& ranks : together_) {
    for (const double Both::*what : {&Both::forward, &Both::backward}) {
      std::vector<double> times;
      times.reserve(ranks.size());
      for (const Both& rank : ranks) times.push_back(rank.*what);
      deviations.push_back(deviation_of(times) / mean(times));
    }
    for (const Both& rank : ranks)
      blocks.push_back(rank.forward + rank.backward);
  }
  const LayerTimes& alone = summary.times.layers[1];
  summary.slowdown = mean(blocks) / (alone.forward + alone.backward);
  summary.jitter = mean(deviations);
}

}  // namespace chimera
