#include "chimera/page/waits.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace chimera {
namespace {

using WaitKey = std::pair<WaitReason, int>;

void add_compute(const Event& event, WorkerTime& time) {
  const double length = event.end - event.start;
  switch (event.action.op) {
    case Op::kF:
      time.forward += length;
      break;
    case Op::kR:
      time.recompute += length;
      break;
    case Op::kU:
      time.update += length;
      break;
    default:
      time.backward += length;
  }
}

// The time axis without what lies between steps while no worker has an event:
// evaluations, and writing.
class StepClock {
 public:
  explicit StepClock(const Trace& trace) {
    std::vector<const Event*> events;
    events.reserve(trace.events.size());
    for (const Event& event : trace.events) events.push_back(&event);
    std::stable_sort(
        events.begin(), events.end(),
        [](const Event* a, const Event* b) { return a->start < b->start; });
    double end = 0;
    int step = 0;
    double left_out = 0;
    for (const Event* event : events) {
      if (pauses_.empty() || (event->start > end && event->step > step)) {
        left_out += event->start - end;
        pauses_.push_back({event->start, left_out});
      }
      end = std::max(end, event->end);
      step = std::max(step, event->step);
    }
  }

  // Converts a time of the trace: without the pauses, and 0 at the start of the
  // first event. REQUIRES: `time` is not in a pause.
  [[nodiscard]] double at(double time) const {
    const auto after = std::upper_bound(
        pauses_.begin(), pauses_.end(), time,
        [](double value, const Pause& pause) { return value < pause.end; });
    return time - std::prev(after)->left_out;
  }

 private:
  struct Pause {
    double end;
    double left_out;  // total of all pauses up to this one
  };
  std::vector<Pause> pauses_;  // the first pause precedes all events
};

WaitKey reason_of(const Trace& trace, const Event& compute,
                  const StepClock& clock, double free_since) {
  if (compute.cause == kNone) return {WaitReason::kRest, kNone};
  const Event& cause = trace.events[compute.cause];
  if (clock.at(cause.end) <= free_since) return {WaitReason::kRest, kNone};
  switch (cause.action.op) {
    case Op::kSF:
      return {WaitReason::kActivation, cause.worker};
    case Op::kSB:
      return {WaitReason::kGradient, cause.worker};
    case Op::kG:
      return {WaitReason::kSum, kNone};
    case Op::kN:
      return {WaitReason::kVote, kNone};
    default:
      return {WaitReason::kRest, kNone};
  }
}

std::vector<Wait> longest_first(const std::map<WaitKey, double>& waits) {
  std::vector<Wait> list;
  for (const auto& [key, time] : waits) {
    if (time > 0) list.push_back({key.first, key.second, time});
  }
  std::stable_sort(list.begin(), list.end(), [](const Wait& a, const Wait& b) {
    return a.time > b.time;
  });
  return list;
}

}  // namespace

std::vector<WorkerTime> worker_times(const Trace& trace) {
  std::vector<WorkerTime> times(trace.workers);
  if (trace.events.empty()) return times;
  const StepClock clock(trace);
  std::vector<std::vector<const Event*>> computes(trace.workers);
  for (const Event& event : trace.events) {
    if (is_compute(event.action.op)) computes[event.worker].push_back(&event);
  }
  const double end = clock.at(makespan(trace));
  for (int worker = 0; worker < trace.workers; ++worker) {
    std::stable_sort(
        computes[worker].begin(), computes[worker].end(),
        [](const Event* a, const Event* b) { return a->start < b->start; });
    std::map<WaitKey, double> waits;
    double free_since = 0;
    for (const Event* event : computes[worker]) {
      add_compute(*event, times[worker]);
      const double start = clock.at(event->start);
      waits[reason_of(trace, *event, clock, free_since)] +=
          std::max(0.0, start - free_since);
      free_since = std::max(free_since, start + event->end - event->start);
    }
    if (end > free_since) waits[{WaitReason::kEnded, kNone}] = end - free_since;
    times[worker].waits = longest_first(waits);
  }
  return times;
}

}  // namespace chimera
