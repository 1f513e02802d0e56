#include "chimera/schedule/costs.h"

#include <cmath>
#include <set>

namespace chimera {

Costs uniform_costs(const Schedule& schedule, const UniformTimes& times) {
  const double share = 1.0 / schedule.chunks();
  const double weight_grad = times.weight_grad.value_or(times.backward / 2);
  StageCosts stage;
  stage.forward = times.forward * share;
  stage.input_grad = (times.backward - weight_grad) * share;
  stage.weight_grad = weight_grad * share;
  stage.update = times.update * share;
  Costs costs;
  costs.stages.assign(schedule.stages(), stage);
  costs.latency = times.latency;
  costs.sum_time = times.sum_time;
  return costs;
}

double compute_time(const Costs& costs, const Action& action, int parts) {
  if (!is_compute(action.op)) return 0;
  const StageCosts& stage = costs.stages[action.stage];
  switch (action.op) {
    case Op::kF:
    case Op::kR:
      return stage.forward;
    case Op::kB:
      return (stage.input_grad + stage.weight_grad) / parts;
    case Op::kI:
      return stage.input_grad / parts;
    case Op::kW:
      return stage.weight_grad / parts;
    default:
      return stage.update;
  }
}

double link_time(const Costs& costs, double bytes) {
  return costs.time_per_message + costs.time_per_byte * bytes;
}

double rabenseifner_time(const SumCosts& costs, double ranks, double bytes) {
  if (ranks < 2) return 0;
  return 2 * std::log2(ranks) * costs.latency +
         2 * (ranks - 1) / ranks * costs.time_per_byte * bytes;
}

namespace {

struct SumSize {
  double ranks = 0;
  double bytes = 0;
};

SumSize size_of(const Costs& costs, const Schedule& schedule,
                const SumGroup& group) {
  std::set<int> holders;
  for (const Member& member : group.members) {
    holders.insert(schedule.placement.worker(member.pipe, member.stage));
  }
  const int stage = group.members.front().stage;
  const bool tied = stage != group.members.back().stage;
  const double bytes =
      tied ? costs.tied_bytes : costs.stages[stage].gradient_bytes;
  return {static_cast<double>(holders.size()) * schedule.width, bytes};
}

}  // namespace

double sum_time(const Costs& costs, const Schedule& schedule,
                const SumGroup& group) {
  const SumSize size = size_of(costs, schedule, group);
  if (size.ranks < 2) return 0;
  if (costs.sum_time) return *costs.sum_time;
  return rabenseifner_time(
      costs.sums.value_or(SumCosts{costs.latency, costs.time_per_byte}),
      size.ranks, size.bytes);
}

double card_time(const Costs& costs, const Schedule& schedule,
                 const SumGroup& group) {
  if (costs.sum_time || !costs.sums) return 0;
  const SumSize size = size_of(costs, schedule, group);
  return rabenseifner_time({.time_per_byte = costs.sums->node_time_per_byte},
                           size.ranks, size.bytes);
}

}  // namespace chimera
