#include "chimera/search/judge.h"

#include "chimera/simulate/simulate.h"

namespace chimera::ordering {
namespace {

constexpr double kDust = 1e-9;     // relative rounding error
constexpr size_t kLarge = 300000;  // actions; above this, ties are not broken
constexpr double kDelay = 0.01;    // added to messages, in mean forwards

}  // namespace

Judge::Judge(const Costs& costs, const LowerOptions& lowering, Aim aim)
    : costs_(costs), delayed_costs_(costs), lowering_(lowering), aim_(aim) {
  lowering_.costs = &costs_;
  double forwards = 0;
  for (const StageCosts& stage : costs.stages) forwards += stage.forward;
  const double delay =
      kDelay * forwards / static_cast<double>(costs.stages.size());
  delayed_costs_.latency += delay;
  if (costs.node) delayed_costs_.node->latency += delay;
}

void Judge::see(const Schedule& order) {
  const Schedule lowered = lower(order, lowering_);
  const double time = aim_ == Aim::kSteady
                          ? simulate(lowered, costs_, {.steps = 5}).period
                          : simulate(lowered, costs_).makespan;
  const bool is_first = best_.actions.empty();
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
