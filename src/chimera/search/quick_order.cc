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
  const Problem problem = make_problem(
      schedule, costs,
      {.cap = {.activations = *layout.cap}, .recompute = recompute});
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
  follow(kind_rules(), 6);
  follow(time_rules(), 10);
  schedule.actions = to_actions(problem, schedule.placement, best.lists);
  return schedule;
}

}  // namespace chimera
