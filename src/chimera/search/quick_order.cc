#include "chimera/search/quick_order.h"

#include <algorithm>
#include <utility>

#include "chimera/schedule/list_scheduling/rules.h"

namespace chimera {

using namespace ordering;

Schedule quick_order(const ScheduleSpec& spec, const Costs& costs,
                     bool recompute) {
  const Scheme& scheme = *find_scheme(spec.scheme);
  const Layout layout = resolve(spec).value();
  Schedule schedule;
  schedule.scheme = scheme.name;
  schedule.depth = layout.depth;
  schedule.micros = layout.micros;
  schedule.width = spec.width;
  schedule.placement = scheme.place(layout);
  return quick_order(
      schedule, costs,
      {.cap = {.activations = *layout.cap}, .recompute = recompute});
}

Schedule quick_order(const Schedule& layout, const Costs& costs,
                     const ProblemOptions& options) {
  Schedule schedule = layout;
  const Problem problem = make_problem(schedule, costs, options);
  ListScheduler scheduler(problem);
  ListPolicy policy{.wait = problem.longest_hop()};
  ListedOrder best;
  ListedOrder tried;
  // Every n-th rule of each kind, so that the few tried differ.
  const auto follow = [&](const auto& rules, size_t most) {
    const size_t each = std::max<size_t>(1, rules.size() / most);
    for (size_t i = 0; i < rules.size(); i += each) {
      set_keys(problem, rules[i], policy);
      scheduler.run(policy, tried);
      if (tried.span < best.span) std::swap(tried, best);
    }
  };
  // Few for a large order: each takes long.
  const int most = std::clamp(30000 / std::max(1, problem.actions), 4, 16);
  follow(kind_rules(), most / 3 + 1);
  follow(time_rules(), most - most / 3 - 1);
  schedule.actions = to_actions(problem, schedule.placement, best.lists);
  return schedule;
}

}  // namespace chimera
