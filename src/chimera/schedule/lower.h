// Lowering: from who computes what to everything a worker does. A pass over
// plain data; the runtime then only walks its list and decides nothing.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "chimera/base/names.h"
#include "chimera/base/result.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// When the gradient sum of a stage starts.
enum class Sync {
  kEagerOpt,  // right after its last backward, if every holder still idles
              // before its own last compute (Chimera's eager-sync-opt)
  kEager,     // right after its last backward
  kEnd,       // after all compute
};

inline constexpr auto kSyncNames =
    std::to_array<std::string_view>({"eager-opt", "eager", "end"});
constexpr Names names_of(Sync) { return kSyncNames; }

struct LowerOptions {
  Sync sync = Sync::kEagerOpt;
  bool recompute = false;
  // The first and last stage share a weight (tied embeddings): one more group.
  bool tied = false;
  // U waits for the vote (clipping, skip-on-NaN, recovery): the vote then
  // stands before the updates, else after them.
  bool vote_gates_update = false;
  // For the as-soon-as-possible pass that orders posts and finds idle time;
  // unit costs (F = I = W = 1) where null.
  const Costs* costs = nullptr;
};

// REQUIRES: `schedule` is compute-only and validates clean.
// ENSURES: the result validates clean.
[[nodiscard]] Schedule lower(const Schedule& schedule,
                             const LowerOptions& options = {});

// `schedule` lowered (unless it is already), proven, and held to the cap; or
// every violation.
[[nodiscard]] Result<Schedule> lower_checked(const Schedule& schedule,
                                             const LowerOptions& options,
                                             std::optional<double> cap);

// The compute actions alone of a synchronous lowered schedule.
[[nodiscard]] Schedule compute_only(const Schedule& lowered);

}  // namespace chimera
