#include "chimera/train/layer_rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "chimera/base/median.h"

namespace chimera {
namespace {

// Standard deviation over mean, without the slowest tenth, which is noise of a
// busy machine.
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

// The standard deviation of a normal distribution whose mean difference of two
// draws is that of `times`. Waiting grows with the mean difference, so the
// deviation is derived from it.
double deviation_of(const std::vector<double>& times) {
  double apart = 0;
  for (const double one : times) {
    for (const double other : times) apart += std::abs(one - other);
  }
  const auto count = static_cast<double>(times.size());
  return apart / (count * (count - 1)) * std::sqrt(std::numbers::pi) / 2;
}

// The median over the rounds of each round's mean over its passes. The mean
// within a round, because a step adds up many actions; the median over the
// rounds, because the machine may be slow during some.
template <class Pass, class ValueOf>
double usual_of(const std::vector<std::vector<Pass>>& rounds,
                const ValueOf& value_of) {
  std::vector<double> means;
  means.reserve(rounds.size());
  for (const std::vector<Pass>& passes : rounds) {
    double sum = 0;
    for (const Pass& pass : passes) sum += value_of(pass);
    means.push_back(sum / static_cast<double>(passes.size()));
  }
  return median(std::move(means));
}

}  // namespace

LayerRounds::LayerRounds(Meeting& meeting, const LayerBenchOptions& options,
                         int busy)
    : meeting_(meeting),
      micro_batch_(options.micro_batch),
      busy_(meeting.size() < busy ? 1 : busy) {
  // Ranks beyond busy_ only wait, because a bench takes gigabytes for a large
  // model.
  if (meeting_.rank() >= busy_) return;
  bench_ = std::make_unique<LayerBench>(options);
  bytes_ = bench_->measure_bytes();
  const Clock::time_point start = Clock::now();
  (void)bench_->time_once();
  seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
}

void LayerRounds::run(double seconds) {
  constexpr double kMost = 30;
  const int passes = static_cast<int>(
      meeting_.agree(std::clamp(seconds / seconds_, 1.0, kMost)));
  if (meeting_.rank() == 0) {
    std::vector<BenchTimes>& round = alone_.emplace_back();
    for (int pass = 0; pass < passes; ++pass) {
      round.push_back(bench_->time_once());
    }
  }
  meeting_.agree(0);
  if (busy_ == 1) return;
  std::vector<std::vector<Both>>& round = together_.emplace_back();
  for (int pass = 0; pass < passes; ++pass) round.push_back(run_together());
}

// Runs one pass on all busy ranks at once. Returns their times, [rank].
std::vector<LayerRounds::Both> LayerRounds::run_together() {
  LayerTimes block;
  if (meeting_.rank() < busy_) block = bench_->time_once().layers[1];
  std::vector<Both> ranks;
  ranks.reserve(busy_);
  for (int rank = 0; rank < busy_; ++rank) {
    ranks.push_back({meeting_.agree(block.forward, rank),
                     meeting_.agree(block.backward, rank)});
  }
  return ranks;
}

LayerSummary LayerRounds::summary() const {
  LayerSummary summary;
  const auto usual = [&](const auto& value_of) {
    return usual_of(alone_, value_of);
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
    for (const std::vector<BenchTimes>& round : alone_) {
      for (const BenchTimes& times : round) {
        sums.push_back(times.layers[kind].forward +
                       times.layers[kind].backward);
      }
    }
    summary.spread[kind] = spread_of(std::move(sums));
  }
  summary.times.update_per_parameter =
      usual([](const BenchTimes& times) { return times.update_per_parameter; });
  if (!together_.empty()) compare_ranks(summary);
  return summary;
}

void LayerRounds::compare_ranks(LayerSummary& summary) const {
  using Ranks = std::vector<Both>;
  const auto times_of = [](const Ranks& ranks, double Both::*what) {
    std::vector<double> times;
    times.reserve(ranks.size());
    for (const Both& rank : ranks) times.push_back(rank.*what);
    return times;
  };
  const double block = usual_of(together_, [&](const Ranks& ranks) {
    return mean(times_of(ranks, &Both::forward)) +
           mean(times_of(ranks, &Both::backward));
  });
  summary.jitter = usual_of(together_, [&](const Ranks& ranks) {
    const auto deviation = [&](double Both::*what) {
      const std::vector<double> times = times_of(ranks, what);
      return deviation_of(times) / mean(times);
    };
    return (deviation(&Both::forward) + deviation(&Both::backward)) / 2;
  });
  const LayerTimes& alone = summary.times.layers[1];
  summary.slowdown = block / (alone.forward + alone.backward);
  if (summary.slowdown >= 1) return;
  // A slowdown below 1 is chance, since disturbance makes no rank faster. The
  // times measured together are kept, since most work runs while others work
  // too.
  for (LayerTimes& times : summary.times.layers) {
    times.forward *= summary.slowdown;
    times.backward *= summary.slowdown;
  }
  summary.slowdown = 1;
}

}  // namespace chimera
