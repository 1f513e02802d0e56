#include "chimera/page/waits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace chimera {
namespace {

using WaitKey = std::pair<WaitReason, int>;

WaitKey reason_of(const Trace& trace, const Event& compute, double free_since) {
  if (compute.cause == kNone) return {WaitReason::kRest, kNone};
  const Event& cause = trace.events[compute.cause];
  if (cause.end <= free_since) return {WaitReason::kRest, kNone};
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
  std::vector<std::vector<const Event*>> computes(trace.workers);
  double begin = std::numeric_limits<double>::infinity();
  for (const Event& event : trace.events) {
    begin = std::min(begin, event.start);
    if (is_compute(event.action.op)) computes[event.worker].push_back(&event);
  }
  const double end = makespan(trace);
  std::vector<WorkerTime> times(trace.workers);
  for (int worker = 0; worker < trace.workers; ++worker) {
    std::stable_sort(
        computes[worker].begin(), computes[worker].end(),
        [](const Event* a, const Event* b) { return a->start < b->start; });
    std::map<WaitKey, double> waits;
    double free_since = begin;
    for (const Event* event : computes[worker]) {
      add_compute(*event, times[worker]);
      waits[reason_of(trace, *event, free_since)] +=
          std::max(0.0, event->start - free_since);
      free_since = std::max(free_since, event->end);
    }
    if (end > free_since) waits[{WaitReason::kEnded, kNone}] = end - free_since;
    times[worker].waits = longest_first(waits);
  }
  return times;
}

}  // namespace chimera
