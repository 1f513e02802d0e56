// An executor to test against. It shares no code and no idea with lower,
// validate and simulate: it runs the lists, with values that record their
// origin, and reports the result. It is simple above all: a schedule is right
// because it ran correctly, not because of a proof.
//
// Every worker has a store. A forward takes the activation of the stage before
// it from the store, a backward takes the values its forward saved and the
// gradient of the stage after it; only a local compute or a matching pair of
// send and receive puts a value in. A worker waits for missing values. A
// gradient is a tally of (stage, micro, part); a sum adds tallies; an update is
// right if every micro-batch is in its tally exactly once.
#pragma once

#include <string>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera::testing {

struct ExecuteOptions {
  int steps = 1;
  // True: a send completes only once its receive is posted.
  bool blocking_sends = false;
};

struct Execution {
  bool finished = false;  // false: deadlock, or the schedule cannot run at all
  std::vector<std::string> errors;   // everything that was computed wrongly
  std::vector<std::string> waiting;  // unless finished: who waits, and where
  double makespan = 0;               // when the last worker ends its list
  // Per worker. peak: most activations held at once, in D-ths of the model.
  // first, last: start of the first and end of the last compute (U is compute).
  std::vector<double> peak;
  std::vector<double> busy, first, last;
};

// True if the schedule finished and everything was computed correctly.
[[nodiscard]] bool is_right(const Execution& execution);
// All errors and waits, one per line, for a test's message.
[[nodiscard]] std::string to_text(const Execution& execution);

// Runs a lowered schedule. A worker's sums complete in the order in which it
// started them. Messages do not wait for sums. Without costs.sum_time and
// costs.sums, sums are free; they slow each other down only where they share a
// network card.
[[nodiscard]] Execution execute(const Schedule& lowered, const Costs& costs,
                                const ExecuteOptions& options = {});

// Runs one step of a compute-only schedule (F, B, I, W; U if asynchronous). A
// result is available on another worker costs.latency after its end, on its own
// worker at once.
[[nodiscard]] Execution execute_compute_only(const Schedule& schedule,
                                             const Costs& costs);

}  // namespace chimera::testing
