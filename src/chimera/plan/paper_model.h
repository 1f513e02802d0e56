// The performance model of the paper (Li & Hoefler, SC'21, section 3.4):
//
//   T = (F + p2p) Cf + (B + p2p) Cb + max over stages of the part of their
//       gradient sum that compute cannot hide
//
// Cf and Cb count forwards and backwards on the critical path. A message takes
// p2p = alpha + beta L and is never hidden. Sums are Rabenseifner's over r =
// holders x copies, and the free regions of figure 6 hide part of them. Stages
// are taken as equal: the slowest one counts.
//
// The model is quick and rough. The simulator is the other judge; experiments
// print how far they differ.
#pragma once

#include <optional>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

// Actions on the critical path. Backward halving can make them fractions.
struct PathCounts {
  double forwards = 0;   // Cf
  double backwards = 0;  // Cb

  bool operator==(const PathCounts&) const = default;
};

// The counts of a layout. Empty if the paper gives no closed form: for schemes
// other than gpipe, 1f1b, gems, chimera, pipedream and pipedream-2bw (the last
// two in steady state), and for chimera if N is not a multiple of D (of 2D with
// doubling), or with more than two pipes and N > D.
//
// `backward_forwards`: how many forwards a backward takes. Above two, doubling
// leaves bubbles between its units; above three, also around them.
[[nodiscard]] std::optional<PathCounts> path_counts(
    const ScheduleSpec& spec, double backward_forwards = 2);

// Idle backward slots on the holders of `stage` after its last backward: the
// regions of figure 6, for two opposite pipes. 0 if the paper does not say.
[[nodiscard]] double free_slots(const ScheduleSpec& spec, int stage, Sync sync);

struct PaperTime {
  double compute = 0;  // F Cf + B Cb
  double message = 0;
  double sum = 0;  // the part that compute does not hide

  [[nodiscard]] double total() const { return compute + message + sum; }
};

struct PaperOptions {
  bool recompute = false;  // a backward takes R longer
  Sync sync = Sync::kEagerOpt;
};

// REQUIRES: path_counts() is not empty; `costs` has every stage.
[[nodiscard]] PaperTime paper_time(const ScheduleSpec& spec, const Costs& costs,
                                   const PaperOptions& options);

}  // namespace chimera
