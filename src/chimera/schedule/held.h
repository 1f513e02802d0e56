// The activations a worker holds, computed from its list alone.
//
// An activation is held whole from its F (or its R, if it has one) to the end
// of its last B or I. Between the last I and the end of the last W only the
// share omega of it is held, what W needs; at 1 all of it is.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// Activations are counted in whole parts, so that sums of shares are exact and
// equal counts compare equal. One activation of a chunk has this many parts,
// which divides by all numbers up to 16 and by a thousand.
inline constexpr std::int64_t kActivationParts = 720'720'000;

// The parts that are held between I and W.
[[nodiscard]] inline std::int64_t deferred_parts(double omega) {
  return std::llround(omega * static_cast<double>(kActivationParts));
}

// The most activations each worker holds at once, in D-ths of the model.
// `omega` is [stage]; empty: 1 for every stage. A worker runs its list in
// order, so no times are needed. For schedules with work in flight across
// steps: the steady state. REQUIRES: `schedule` is valid.
[[nodiscard]] std::vector<double> peak_held(
    const Schedule& schedule, const std::vector<double>& omega = {});

// [stage]: bytes that a micro-batch holds from F to I, the stage's input
// included. 0: unknown.
[[nodiscard]] std::vector<double> held_bytes(const Costs& costs);

// The most bytes of activations that each worker holds at once, counted as in
// peak_held() with the omega of `costs`. REQUIRES: as peak_held().
[[nodiscard]] std::vector<double> peak_held_bytes(const Schedule& schedule,
                                                  const Costs& costs);

}  // namespace chimera
