// An executor to test against. It shares no code and no idea with lower,
// validate and simulate: it runs the lists, with values that know where they
// came from, and sees what comes out. Simple above all; what it finds right is
// right by having been done, not by having been proven.
//
// Every worker has its own store. A forward takes the activation of the stage
// before it from there, a backward what its forward saved and the gradient of
// the stage after it; only a local compute or a matched pair of send and
// receive puts something in. What is missing is waited for. Gradients are
// tallies of (stage, micro, part); a sum adds up tallies, an update is right
// if every micro-batch is in its tally exactly once.
#pragma once

#include <string>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera::testing {

struct ExecuteOptions {
  int steps = 1;
  // A worker does not pass a send until its receive is posted.
  bool blocking_sends = false;
};

struct Execution {
  bool finished = false;             // false: some worker waits for ever,
                                     // or the schedule cannot be run at all
  std::vector<std::string> errors;   // everything that was computed wrongly
  std::vector<std::string> waiting;  // unless finished: who waits, and where
  double makespan = 0;               // when the last worker ends its list
  // Per worker. Peak: activations held at once, in D-ths of the model. First
  // and last: start of the first and end of the last compute (U is compute).
  std::vector<double> peak;
  std::vector<double> busy, first, last;
};

// Finished, and everything was computed right.
[[nodiscard]] bool is_right(const Execution& execution);
// All errors and waits, one a line, for a test's message.
[[nodiscard]] std::string to_text(const Execution& execution);

// Runs a lowered schedule. A worker's sums always complete in the order in
// which it started them. costs.time_per_byte is taken as 0, an absent
// costs.sum_time too, and sums do not slow each other down.
[[nodiscard]] Execution execute(const Schedule& lowered, const Costs& costs,
                                const ExecuteOptions& options = {});

// Runs one step of a compute-only schedule (F, B, I, W; U if asynchronous). A
// result is at hand on the worker that needs it costs.latency after its end,
// at once on its own worker.
[[nodiscard]] Execution execute_compute_only(const Schedule& schedule,
                                             const Costs& costs);

}  // namespace chimera::testing
