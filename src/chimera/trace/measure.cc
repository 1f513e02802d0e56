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

Trace unshared(const Trace& trace, int cores) {
  // +1 where a compute starts, -1 where it ends.
  std::map<double, int> changes;
  for (const Event& event : trace.events) {
    if (!is_compute(event.action.op)) continue;
    ++changes[event.start];
    --changes[event.end];
  }
  // done[t]: processor time that a compute running from the beginning to t
  // would have had.
  std::map<double, double> done;
  double before = 0;
  double sum = 0;
  int computing = 0;
  for (const auto& [time, change] : changes) {
    const double share =
        computing > cores ? static_cast<double>(cores) / computing : 1;
    sum += (time - before) * share;
    done[time] = sum;
    before = time;
    computing += change;
  }
  Trace result = trace;
  for (Event& event : result.events) {
    if (!is_compute(event.action.op)) continue;
    event.end = event.start + done[event.end] - done[event.start];
  }
  return result;
}

double measured_jitter(const Trace& trace) {
  std::map<std::pair<int, Op>, std::vector<double>> times;
  for (const Event& event : trace.events) {
    if (!is_compute(event.action.op)) continue;
    times[{event.action.stage, event.action.op}].push_back(event.end -
                                                           event.start);
  }
  double deviations = 0;
  double all = 0;
  for (auto& [kind, list] : times) {
    if (list.size() < 4) continue;
    std::sort(list.begin(), list.end());
    const double between = list[list.size() * 3 / 4] - list[list.size() / 4];
    // The quartiles of a normal distribution are 1.349 deviations apart.
    const auto count = static_cast<double>(list.size());
    deviations += count * between / 1.349;
    all += count * list[list.size() / 2];
  }
  return all > 0 ? deviations / all : 0;
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
    const std::vector<double>& again = times[{stage, Op::kR}];
    if (!again.empty()) cost.recompute = median(again);
  }
  return costs;
}

}  // namespace chimera
