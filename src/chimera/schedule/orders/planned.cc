// Planned orders: split backward on any placement, ordered by list scheduling
// under an activation cap. This file applies the fixed rules for F = I = W; the
// search module improves the result for given costs.
#include <algorithm>

#include "chimera/base/text.h"
#include "chimera/schedule/list_scheduling/rules.h"
#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

using namespace ordering;

Placement place(const Layout& layout) {
  return layout.pipes == 1 ? one_way(layout) : opposite(layout);
}

// The most rules to try, so that large layouts do not take minutes.
size_t most_rules(const Problem& problem) {
  constexpr size_t kMostActions = 100'000'000;
  return std::max<size_t>(1, kMostActions / std::max(1, problem.actions));
}

ActionLists order(const Layout& layout, const Placement& placement) {
  Schedule empty;
  empty.depth = layout.depth;
  empty.micros = layout.micros;
  empty.placement = placement;
  const Problem problem = make_problem(empty, uniform_costs(empty, {}),
                                       {.cap = {.activations = *layout.cap}});
  const Ticks bound = problem.simple_bound();
  ListScheduler scheduler(problem);
  ListPolicy policy;
  ListedOrder best;
  ListedOrder tried;
  size_t left = most_rules(problem);
  const auto try_rules = [&](const auto& rules) {
    for (const auto& rule : rules) {
      if (best.span <= bound || left-- == 0) return;
      set_keys(problem, rule, policy);
      scheduler.run(policy, tried);
      // Keeps the order with the shortest span; among equals, that whose steps
      // follow each other most closely.
      if (std::pair(tried.span, tried.lateness) <
          std::pair(best.span, best.lateness)) {
        std::swap(tried, best);
      }
    }
  };
  try_rules(kind_rules());
  try_rules(time_rules());
  return to_actions(problem, placement, best.lists);
}

Diagnostics refuse(const Layout& layout) {
  Diagnostics errors;
  if (layout.pipes != 1) errors = needs_opposite_pipes(layout);
  const bool is_linear = layout.shape == Shape::kLinear;
  if (is_linear != (layout.chunks == 1)) {
    errors.push_back(
        {.code = "E205",
         .found = "chunks = " + std::to_string(layout.chunks) + " and shape " +
                  std::string(name_of(layout.shape)),
         .needed = "do not fit: linear has 1 chunk, the others 2 or more",
         .hint = is_linear ? "use shape vee, wave or loop"
                           : "use --chunks 2 or --shape linear"});
  } else if (layout.shape == Shape::kVee && layout.chunks != 2) {
    errors.push_back({.code = "E205",
                      .found = "chunks = " + std::to_string(layout.chunks),
                      .needed = "must be 2 for shape vee",
                      .hint = "use --chunks 2 or --shape wave"});
  }
  if (*layout.cap < layout.pipes) {
    errors.push_back(
        {.code = "E210",
         .found = "cap = " + number(*layout.cap),
         .needed = "must be at least one activation for each of the " +
                   std::to_string(layout.pipes) + " pipes",
         .hint = "use " + std::to_string(layout.pipes)});
  }
  return errors;
}

}  // namespace

Scheme planned_scheme() {
  return {
      .name = "planned",
      .alias = "chimera-zero",
      .summary = "any placement, split backward, ordered for its costs and cap",
      .legal =
          "any N; pipes 1, or 2f where f divides D/2; linear, or vee, "
          "wave, loop with chunks; cap >= pipes",
      .makespan =
          ">= 3N + skew, F=I=W=1; skew (D-1)/v for one pipe, "
          "(D/(2f)-1)/v for 2f",
      .peak = "cap (default D)",
      .weights = "pipes",
      .pipes = 2,
      .any_pipes = true,
      .any_chunks = true,
      .any_shape = true,
      .any_cap = true,
      .refuse = refuse,
      .place = place,
      .order = order};
}

}  // namespace chimera
