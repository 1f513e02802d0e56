// Lowering: turns a compute-only schedule into everything a worker does,
// message by message. It is a pass over plain data; the runtime then walks the
// lists and decides nothing.
//
// Invariant: a lowered schedule finishes even if every send blocks until its
// receive is posted and every worker's sums complete in the order in which it
// started them. Lowering ensures it by placing posts and sends in one global
// order of the actions, and sums in one global order of the groups; validate
// proves it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "chimera/base/names.h"
#include "chimera/base/result.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"
#include "chimera/schedule/validate.h"

namespace chimera {

// When the gradient sum of a stage starts.
enum class Sync {
  // Right after its last backward, if every holder still idles before its last
  // compute (Chimera's eager-sync-opt).
  kEagerOpt,
  kEager,  // right after its last backward
  kEnd,    // after all compute
  // The two below are how other systems synchronise. They also place updates: U
  // waits for its sums, so what stands behind it does too.
  //
  // Right after its last backward, and the update with it, before the message
  // of that backward (torch's DistributedDataParallel).
  kDdp,
  kBlocking,  // after all compute, each with its update before the next sum
};

inline constexpr auto kSyncNames = std::to_array<std::string_view>(
    {"eager-opt", "eager", "end", "ddp", "blocking"});
constexpr Names names_of(Sync) { return kSyncNames; }

struct LowerOptions {
  Sync sync = Sync::kEagerOpt;
  Recompute recompute = false;
  // True: R also waits for the gradient of its backward (it names the
  // gradient's sender as its peer), and asynchronous schemes, whose last stage
  // runs each backward right behind its forward, do not recompute there.
  bool recompute_late = false;
  // True: the first and the last stage share a weight (tied embeddings), which
  // is summed by one more group.
  bool tied = false;
  // True: the vote decides about updates (clipping, skip on NaN, recovery), and
  // N stands before them in the lists. False: N stands after them.
  bool vote_gates_update = false;
  // True: updates that the vote decides about do not wait for it. Instead V in
  // the next step waits; it stands before the first backward of all workers.
  bool late_vote = false;
  // Costs for the as-soon-as-possible pass that orders posts and finds idle
  // time; null: unit costs (F = I = W = 1).
  const Costs* costs = nullptr;
};

// Why `schedule` cannot be lowered so: with kDdp a stage needs a single holder
// in a copy and no tied weight, else workers would wait for each other in a
// circle; with kDdp and kBlocking no vote may decide about updates.
[[nodiscard]] Diagnostics check_lowering(const Schedule& schedule,
                                         const LowerOptions& options);

// Lowers `schedule`. REQUIRES: `schedule` is compute-only and valid, and
// check_lowering finds nothing. ENSURES: the result is valid.
[[nodiscard]] Schedule lower(const Schedule& schedule,
                             const LowerOptions& options = {});

// `schedule` lowered (unless it is already), and validated with `proof`; or
// every violation.
[[nodiscard]] Result<Schedule> lower_checked(const Schedule& schedule,
                                             const LowerOptions& options,
                                             const ValidateOptions& proof);

// The compute actions of a synchronous lowered schedule, without the rest.
[[nodiscard]] Schedule compute_only(const Schedule& lowered);

}  // namespace chimera
