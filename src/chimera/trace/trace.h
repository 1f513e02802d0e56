// What happened, or would happen: a list of timed events. The simulator and
// the runtime both return this type, so that report cannot tell them apart and
// the difference between two traces is the model's error bar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chimera/schedule/schedule.h"

namespace chimera {

// One interval. What kind it is follows from action.op:
//   F B I W R U   compute on `worker`
//   SF SB         a message from `worker` to action.peer (both are workers of
//                 the trace), from the moment it leaves to the moment it
//                 arrives
//   G             the gradient sum of action.group, seen by member `worker`,
//                 from the moment its last member has started it
//   N             the vote, seen by `worker`, from its own start
struct Event {
  Action action;
  int worker = 0;
  int step = 0;  // absolute, from 0 (action.step is only the offset)
  double start = 0;
  double end = 0;
  // The event whose end this one's start waited for, as an index into
  // Trace::events; kNone at the beginning. Following it from the last event
  // gives the critical path.
  std::int32_t cause = kNone;
  // Which weights a compute used: the number of updates its stage had seen.
  // The runtime records it; kNone in simulated traces.
  std::int32_t version = kNone;

  bool operator==(const Event&) const = default;
};

struct Trace {
  int workers = 0;
  int pipes = 1;
  int steps = 1;
  std::vector<Event> events;  // every cause before its effects

  bool operator==(const Trace&) const = default;
};

// The latest end of any event but a vote (nobody waits for the last one).
[[nodiscard]] double makespan(const Trace& trace);

// From the event that ends last (but a vote) back along the causes: indices
// into trace.events, first to last.
[[nodiscard]] std::vector<int> critical_path(const Trace& trace);

}  // namespace chimera
