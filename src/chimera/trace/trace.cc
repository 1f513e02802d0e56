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

}  // namespace chimera
