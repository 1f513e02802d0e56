#include "chimera/train/layer_rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "chimera/base/median.h"

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

double block_seconds(const BenchTimes& times) {
  return times.layers[1].forward + times.layers[1].backward;
}

// Of a round's alone and together: what changes from round to round is the
// machine's.
double slowdown_of(const std::vector<BenchTimes>& alone,
                   const std::vector<BenchTimes>& together) {
  std::vector<double> ratios;
  ratios.reserve(alone.size());
  for (std::size_t round = 0; round < alone.size(); ++round) {
    ratios.push_back(block_seconds(together[round]) /
                     block_seconds(alone[round]));
  }
  return median(std::move(ratios));
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
  if (busy_ > 1 && meeting_.rank() < busy_) {
    together_.push_back(bench_.time_once());
  }
  meeting_.agree(0);
}

LayerSummary LayerRounds::summary() const {
  LayerSummary summary;
  const auto middle = [&](const auto& value_of) {
    std::vector<double> values;
    values.reserve(alone_.size());
    for (const BenchTimes& times : alone_) values.push_back(value_of(times));
    return median(std::move(values));
  };
  for (int kind = 0; kind < kLayerKinds; ++kind) {
    const auto of = [&](double LayerTimes::*what) {
      return middle(
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
  summary.times.update_per_parameter = middle(
      [](const BenchTimes& times) { return times.update_per_parameter; });
  if (busy_ > 1 && meeting_.size() >= busy_) {
    summary.slowdown = slowdown_of(alone_, together_);
  }
  return summary;
}

}  // namespace chimera
