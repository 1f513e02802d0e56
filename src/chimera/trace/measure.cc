#include "chimera/trace/measure.h"

#include <algorithm>
#include <limits>
#include <map>

#include "chimera/base/median.h"

namespace chimera {

Trace one_step(const Trace& trace, int step, int workers) {
  Trace one{.workers = workers, .pipes = trace.pipes, .steps = 1};
  double start = std::numeric_limits<double>::infinity();
  for (const Event& event : trace.events) {
    if (event.step != step || event.worker >= workers) continue;
    one.events.push_back(event);
    start = std::min(start, event.start);
  }
  for (Event& event : one.events) {
    event.step = 0;
    event.start -= start;
    event.end -= start;
    event.cause = kNone;
  }
  return one;
}

Trace side_by_side(const Trace& first, const Trace& second) {
  Trace both = first;
  both.workers += second.workers;
  for (Event event : second.events) {
    event.worker += first.workers;
    if (is_send(event.action.op)) event.action.peer += first.workers;
    event.cause = kNone;
    both.events.push_back(event);
  }
  return both;
}

Costs measured_costs(const Schedule& schedule, const Trace& trace) {
  std::map<std::pair<int, Op>, std::vector<double>> times;
  std::vector<double> messages;
  std::vector<double> sums;
  for (const Event& event : trace.events) {
    const Op op = event.action.op;
    const double time = event.end - event.start;
    if (is_compute(op)) times[{event.action.stage, op}].push_back(time);
    if (is_send(op)) messages.push_back(time);
    if (op == Op::kG) sums.push_back(time);
  }
  Costs costs;
  costs.latency = median(messages);
  costs.sum_time = median(sums);
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    StageCosts& cost = costs.stages.emplace_back();
    const double whole = median(times[{stage, Op::kB}]) * schedule.parts;
    cost.forward = median(times[{stage, Op::kF}]);
    cost.input_grad = median(times[{stage, Op::kI}]) * schedule.parts;
    cost.weight_grad = median(times[{stage, Op::kW}]) * schedule.parts;
    if (cost.input_grad <= 0) cost.input_grad = whole / 2;
    if (cost.weight_grad <= 0) cost.weight_grad = whole / 2;
    cost.update = median(times[{stage, Op::kU}]);
  }
  return costs;
}

}  // namespace chimera
