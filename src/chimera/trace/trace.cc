#include "chimera/trace/trace.h"

#include <algorithm>

namespace chimera {

double makespan(const Trace& trace) {
  double last = 0;
  for (const Event& event : trace.events) {
    if (event.action.op != Op::kN) last = std::max(last, event.end);
  }
  return last;
}

std::vector<int> critical_path(const Trace& trace) {
  const std::vector<Event>& events = trace.events;
  int last = kNone;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].action.op == Op::kN) continue;
    if (last == kNone || events[i].end > events[last].end) {
      last = static_cast<int>(i);
    }
  }
  std::vector<int> path;
  for (; last != kNone; last = events[last].cause) path.push_back(last);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace chimera
