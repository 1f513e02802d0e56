// The mean times of a schedule whose actions vary in length.
#include <algorithm>
#include <cmath>

#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

// The mean of the largest of `count` numbers drawn from `values`.
double slowest_of(std::vector<double> values, int count) {
  std::sort(values.begin(), values.end());
  const auto size = static_cast<double>(values.size());
  double mean = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto below = static_cast<double>(i);
    mean += values[i] * (std::pow((below + 1) / size, count) -
                         std::pow(below / size, count));
  }
  return mean;
}

// Plays with many actions vary little, so few of them suffice.
int plays_of(const Schedule& schedule, int steps, int most) {
  constexpr double kMostActions = 5e6;
  const auto actions = static_cast<double>(num_actions(schedule));
  return static_cast<int>(
      std::clamp(kMostActions / steps / actions, 2.0, double(most)));
}

}  // namespace

double expected_makespan(const Schedule& schedule, const Costs& costs,
                         const SimulateOptions& options, int most_plays) {
  const int plays = plays_of(schedule, options.steps, most_plays);
  SimulateOptions play = options;
  std::vector<double> spans;
  for (int i = 1; i <= plays; ++i) {
    play.play = options.play + i;
    spans.push_back(simulate(schedule, costs, play).makespan);
  }
  const double mean = slowest_of(spans, 1);
  // Copies wait for each other after every step. Relative to its mean, a single
  // step varies more than a sum of steps, by sqrt(steps).
  const double waiting = (slowest_of(spans, schedule.width) - mean) *
                         std::sqrt(double(options.steps));
  play.jitter = 0;
  return std::max(mean, simulate(schedule, costs, play).makespan) + waiting;
}

double expected_period(const Schedule& schedule, const Costs& costs,
                       const SimulateOptions& options, int most_plays) {
  const int plays = plays_of(schedule, options.steps, most_plays);
  SimulateOptions play = options;
  std::vector<double> periods;
  for (int i = 1; i <= plays; ++i) {
    play.play = options.play + i;
    const std::vector<double> ends = simulate(schedule, costs, play).step_ends;
    for (size_t step = 2; step < ends.size(); ++step) {
      periods.push_back(ends[step] - ends[step - 1]);
    }
  }
  const double mean = slowest_of(periods, 1);
  // Copies wait for each other after every step.
  const double waiting = slowest_of(periods, schedule.width) - mean;
  play.jitter = 0;
  return std::max(mean, simulate(schedule, costs, play).period) + waiting;
}

}  // namespace chimera
