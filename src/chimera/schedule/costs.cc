#include "chimera/schedule/costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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
  stage.omega = times.omega;
  Costs costs;
  costs.stages.assign(schedule.stages(), stage);
  costs.latency = times.latency;
  costs.sum_time = times.sum_time;
  return costs;
}

std::vector<double> omegas(const Costs& costs) {
  std::vector<double> shares;
  for (const StageCosts& stage : costs.stages) shares.push_back(stage.omega);
  return shares;
}

void set_omegas(Costs& costs, const std::vector<double>& omega) {
  for (size_t stage = 0; stage < costs.stages.size(); ++stage) {
    costs.stages[stage].omega = omega[stage];
  }
}

double compute_time(const Costs& costs, const Action& action, int parts) {
  if (!is_compute(action.op)) return 0;
  const StageCosts& stage = costs.stages[action.stage];
  switch (action.op) {
    case Op::kF:
      return stage.forward;
    case Op::kR:
      return stage.recompute_time();
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

namespace {

// Checks as many copies as differ in how their ranks lie on nodes: ranks /
// gcd(workers, ranks) with ranks in blocks. With ranks dealt out in turns, all
// copies lie the same way.
bool share_node(const NodeCosts& node, const Route& route) {
  const int all = route.workers * route.width;
  const int period = node.ranks / std::gcd(route.workers, node.ranks);
  for (int copy = 0; copy < std::min(route.width, period); ++copy) {
    const int first = copy * route.workers;
    if (node.node_of(first + route.from, all) !=
        node.node_of(first + route.to, all)) {
      return false;
    }
  }
  return true;
}

}  // namespace

MessageTime message_time(const Costs& costs, const Route& route, double bytes) {
  if (costs.node && share_node(*costs.node, route)) {
    return {costs.time_per_message + costs.node->time_per_byte * bytes,
            costs.node->latency};
  }
  return {costs.time_per_message + costs.time_per_byte * bytes, costs.latency};
}

double rabenseifner_time(const SumCosts& costs, double ranks, double bytes) {
  if (ranks < 2) return 0;
  return 2 * std::log2(ranks) * costs.latency +
         2 * (ranks - 1) / ranks * costs.time_per_byte * bytes;
}

SumRanks sum_ranks(const Costs& costs, const std::vector<int>& holders,
                   int workers, int width) {
  if (!costs.node) return {static_cast<double>(holders.size()) * width, 1, 1};
  const int all = workers * width;
  std::vector<int> on_node((all - 1) / costs.node->ranks + 1);
  for (int copy = 0; copy < width; ++copy) {
    for (const int worker : holders) {
      ++on_node[costs.node->node_of(copy * workers + worker, all)];
    }
  }
  SumRanks ranks{0, 0, std::numeric_limits<double>::infinity()};
  for (const double here : on_node) {
    if (here == 0) continue;
    ++ranks.nodes;
    ranks.most = std::max(ranks.most, here);
    ranks.least = std::min(ranks.least, here);
  }
  return ranks;
}

double all_reduce_time(const Costs& costs, const SumRanks& ranks,
                       double bytes) {
  const SumCosts sums =
      costs.sums.value_or(SumCosts{costs.latency, costs.time_per_byte});
  // Each rank of a node sums its share of the bytes with other nodes. Shares
  // are largest on the emptiest node, for which the others wait.
  const double between =
      rabenseifner_time(sums, ranks.nodes, bytes / ranks.least);
  if (!costs.node) return between;
  return between +
         rabenseifner_time({costs.node->latency, costs.node->time_per_byte},
                           ranks.most, bytes);
}

double vote_time(const Costs& costs, double ranks) {
  const bool in_node = costs.node && ranks <= costs.node->ranks;
  return 2 * std::ceil(std::log2(ranks)) *
         (in_node ? costs.node->latency : costs.latency);
}

namespace {

struct SumSize {
  SumRanks ranks;
  double bytes = 0;

  [[nodiscard]] bool is_alone() const { return ranks.nodes * ranks.most < 2; }
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
  return {sum_ranks(costs, {holders.begin(), holders.end()}, schedule.workers(),
                    schedule.width),
          bytes};
}

}  // namespace

double sum_time(const Costs& costs, const Schedule& schedule,
                const SumGroup& group) {
  const SumSize size = size_of(costs, schedule, group);
  if (size.is_alone()) return 0;
  if (costs.sum_time) return *costs.sum_time;
  return all_reduce_time(costs, size.ranks, size.bytes);
}

double card_time(const Costs& costs, const Schedule& schedule,
                 const SumGroup& group) {
  if (costs.sum_time || !costs.sums) return 0;
  const SumSize size = size_of(costs, schedule, group);
  return rabenseifner_time({.time_per_byte = costs.sums->node_time_per_byte},
                           size.ranks.nodes, size.bytes / size.ranks.least);
}

}  // namespace chimera
