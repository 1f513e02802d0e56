#include "chimera/search/judge.h"

#include <algorithm>

#include "chimera/simulate/simulate.h"

namespace chimera::ordering {
namespace {

constexpr double kDust = 1e-9;     // relative rounding error
constexpr size_t kLarge = 300000;  // actions; larger orders keep their ties
constexpr double kDelay = 0.01;    // added to messages, in mean forwards

// Few plays suffice to compare orders, because all have the same noise.
constexpr int kPlays = 16;       // of one step
constexpr int kSteadyPlays = 4;  // of eight steps

}  // namespace

double judged_period(const Schedule& lowered, const Costs& costs,
                     double jitter) {
  return expected_period(lowered, costs, {.steps = 8, .jitter = jitter},
                         kSteadyPlays);
}

Judge::Judge(const Costs& costs, const LowerOptions& lowering,
             const JudgeOptions& options)
    : costs_(costs),
      delayed_costs_(costs),
      lowering_(lowering),
      options_(options) {
  lowering_.costs = &costs_;
  double forwards = 0;
  for (const StageCosts& stage : costs.stages) forwards += stage.forward;
  const double delay =
      kDelay * forwards / static_cast<double>(costs.stages.size());
  delayed_costs_.latency += delay;
  if (costs.node) delayed_costs_.node->latency += delay;
}

double Judge::time_of(const Schedule& lowered) const {
  return options_.aim == Aim::kSteady
             ? simulate(lowered, costs_, {.steps = 5}).period
             : simulate(lowered, costs_).makespan;
}

double Judge::expected_time_of(const Schedule& lowered) const {
  return options_.aim == Aim::kSteady
             ? judged_period(lowered, costs_, options_.jitter)
             : expected_makespan(lowered, costs_, {.jitter = options_.jitter},
                                 kPlays);
}

void Judge::see(const Schedule& order) {
  const Schedule lowered = lower(order, lowering_);
  double time = time_of(lowered);
  const bool is_first = best_.actions.empty();
  least_ = is_first ? time : std::min(least_, time);
  if (!is_first && time > time_ * (1 + kDust)) return;
  // With noise an order takes no less than without.
  if (options_.jitter > 0) time = expected_time_of(lowered);
  if (!is_first && time > time_ * (1 + kDust)) return;
  const bool is_large = num_actions(lowered) > kLarge;
  const double delayed =
      is_large ? 0 : simulate(lowered, delayed_costs_, {.steps = 4}).makespan;
  const bool is_better = is_first || time < time_ * (1 - kDust) ||
                         delayed < delayed_ * (1 - kDust);
  if (!is_better) return;
  best_ = order;
  time_ = time;
  delayed_ = delayed;
}

}  // namespace chimera::ordering
