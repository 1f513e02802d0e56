// The events of a step, simulated or measured, as a list of intervals. The
// simulator and the runtime both return this type, so report cannot tell them
// apart, and the difference between the two traces is the error of the
// simulator's model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chimera/schedule/schedule.h"

namespace chimera {

// One interval. action.op tells its kind:
//   F B I W R U   compute on `worker`
//   SF SB         a message from `worker` to action.peer (both are workers of
//                 the trace), from the moment it leaves to the moment it
//                 arrives
//   G             the gradient sum of action.group, seen by member `worker`,
//                 from the moment its last member has started it
//   N             the vote, seen by `worker`, from the moment it starts it
// V has no event of its own: the compute that follows it has the vote as its
// cause, if it waited for it. A compute that was run again has several events.
struct Event {
  Action action;
  int worker = 0;
  int step = 0;  // absolute, from 0 (action.step is only the offset)
  double start = 0;
  double end = 0;
  // The event whose end this one's start waited for, as an index into
  // Trace::events; kNone if it waited for none. Following causes from the last
  // event gives the critical path.
  std::int32_t cause = kNone;
  // The weights a compute used, as the number of updates applied to its stage
  // so far. Recorded by the runtime; kNone in simulated traces.
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

// The latest end of any event except votes, because no event waits for the last
// one.
[[nodiscard]] double makespan(const Trace& trace);

// The events from the beginning to the one that ends last (votes excepted),
// each the cause of the next, as indices into trace.events.
[[nodiscard]] std::vector<int> critical_path(const Trace& trace);

}  // namespace chimera
