// A step as the page draws it: events with their causes, and the critical path.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/schedule/costs.h"
#include "chimera/trace/trace.h"

namespace chimera {

struct Timeline {
  std::string kind;       // planned, last, slowest or median
  std::string title;      // "step 12, the slowest of 50 traced"
  Trace trace;            // one step from time 0; events by worker
  std::vector<int> path;  // indices into trace.events
  int workers_left_out = 0;
  bool are_messages_left_out = false;
};

// The events of one step, ordered by worker and start, from time 0. A cause
// outside of the step becomes kNone. The caller sets the titles. REQUIRES:
// `step` has events.
[[nodiscard]] Timeline step_timeline(const Trace& trace, int step);

// All events of the trace with its critical path, ordered by worker and start.
[[nodiscard]] Timeline whole_timeline(const Trace& trace);

// Removes messages, and then the last workers, until at most `most_events` are
// left.
void shorten(Timeline& timeline, std::size_t most_events);

// The last step of the trace, the slowest one and the one of median length;
// each once, in this order.
[[nodiscard]] std::vector<Timeline> chosen_steps(const Trace& trace);

// JSON with columns of numbers, one entry per event; times are in millionths of
// the makespan.
[[nodiscard]] std::string to_json(const Timeline& timeline);

// Reads trace.json of a run of `lowered`, with causes. Refuses (E101) a trace
// of another schedule (ids out of range), or of more than 256 MB.
[[nodiscard]] Result<Trace> read_run_trace(const std::string& path,
                                           const Schedule& lowered);

}  // namespace chimera
