#include "chimera/search/named_orders.h"

#include "chimera/schedule/list_scheduling/problem.h"
#include "chimera/schedule/scheme.h"

namespace chimera::ordering {
namespace {

// True if each pipe has as many micro-batches as it would have if micro-batch m
// went to pipe m mod pipes.
bool is_dealt_evenly(const Schedule& order) {
  std::vector<int> micros(order.pipes(), 0);
  for (const ActionList& list : order.actions) {
    for (const Action& action : list) {
      if (action.op == Op::kF && action.stage == 0) ++micros[action.pipe];
    }
  }
  for (int pipe = 0; pipe < order.pipes(); ++pipe) {
    const int fair = (order.micros + order.pipes() - 1 - pipe) / order.pipes();
    if (micros[pipe] != fair) return false;
  }
  return true;
}

ActionList in_turn(const ActionList& list, int pipes, int stages) {
  // [pipe][stage][F, I, W]
  std::vector<int> count(static_cast<size_t>(pipes) * stages * kSlotOps, 0);
  ActionList split;
  const auto add = [&](Action action, Op op, SlotOp kind) {
    const int slot = action.pipe * stages + action.stage;
    action.op = op;
    action.micro = count[code_of(slot, kind)]++ * pipes + action.pipe;
    split.push_back(action);
  };
  for (const Action& action : list) {
    if (action.op == Op::kF) add(action, Op::kF, kF);
    if (gives_gradient(action.op)) add(action, Op::kI, kI);
    if (gives_weight_gradient(action.op)) add(action, Op::kW, kW);
  }
  return split;
}

}  // namespace

std::vector<Schedule> named_orders(const Schedule& schedule) {
  std::vector<Schedule> found;
  const auto add = [&](const Scheme& scheme, Scale scale) {
    ScheduleSpec spec{.scheme = std::string(scheme.name),
                      .depth = schedule.depth,
                      .micros = schedule.micros,
                      .scale = scale,
                      .width = schedule.width};
    if (scheme.any_pipes) spec.pipes = schedule.pipes();
    if (scheme.any_chunks) spec.chunks = schedule.chunks();
    const Result<Layout> layout = resolve(spec);
    if (!layout || scheme.place(*layout) != schedule.placement) return;
    Schedule order = make_schedule(spec).value();
    if (order.parts != 1 || !is_dealt_evenly(order)) return;
    for (ActionList& list : order.actions) {
      list = in_turn(list, order.pipes(), order.stages());
    }
    found.push_back(std::move(order));
  };
  for (const Scheme& scheme : schemes()) {
    if (!scheme.is_synchronous() || scheme.any_cap) continue;
    add(scheme, Scale::kDirect);
    if (scheme.any_scale) add(scheme, Scale::kDoubling);
  }
  return found;
}

}  // namespace chimera::ordering
