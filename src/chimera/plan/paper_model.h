// The performance model of the paper (Li & Hoefler, SC'21, section 3.4):
//
//   T = (F + p2p) Cf + (B + p2p) Cb + max over stages of the part of their
//       gradient sum that compute cannot hide
//
// Cf and Cb count forwards and backwards on the critical path, p2p = alpha +
// beta L is never hidden, the sum is Rabenseifner's over r = holders x copies,
// and what hides it are the free regions of figure 6. Stages are taken as
// equal: the slowest one counts. It is quick and rough; the simulator is the
// other judge, and their difference is printed by experiments.
#pragma once

#include <optional>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

// On the critical path. Not always whole numbers: backward halving.
struct PathCounts {
  double forwards = 0;   // Cf
  double backwards = 0;  // Cb

  bool operator==(const PathCounts&) const = default;
};

// Absent where the paper gives no closed form: other schemes than gpipe, 1f1b,
// gems, chimera, pipedream and pipedream-2bw (the last two in steady state);
// chimera with N that is no multiple of D (of 2D with doubling), or with more
// than two pipes and N > D. `backward_forwards`: how many forwards a backward
// takes; above two doubling leaves bubbles between its units, above three
// around them.
[[nodiscard]] std::optional<PathCounts> path_counts(
    const ScheduleSpec& spec, double backward_forwards = 2);

// Backward slots that are idle on the holders of `stage` after its last
// backward: figure 6's regions. Of two opposite pipes; 0 where nobody says.
[[nodiscard]] double free_slots(const ScheduleSpec& spec, int stage, Sync sync);

struct PaperTime {
  double compute = 0;  // F Cf + B Cb
  double message = 0;
  double sum = 0;  // what compute does not hide

  [[nodiscard]] double total() const { return compute + message + sum; }
};

struct PaperOptions {
  bool recompute = false;  // a backward takes F more
  Sync sync = Sync::kEagerOpt;
};

// REQUIRES: path_counts() has an answer; one cost per stage.
[[nodiscard]] PaperTime paper_time(const ScheduleSpec& spec, const Costs& costs,
                                   const PaperOptions& options);

}  // namespace chimera
