// Fixed rules for list scheduling: what goes first. With F = I = W, free
// messages and a cap of D the best of them meets the lower bound on every
// placement tried (docs/planned-orders.md has the table), without any search.
#pragma once

#include <vector>

#include "chimera/schedule/list_scheduling/list_scheduler.h"

namespace chimera::ordering {

// By what several of a kind are put in order; ties go to the deepest stage, or
// to the lowest micro-batch.
enum class RankBy {
  kMicro,       // counted over all pipes
  kNumber,      // counted in each pipe
  kDeepest,     // stage
  kShallowest,  // stage
  kDiagonal,    // a micro-batch counts as much as four workers' stages
};

// Which kind goes first; W, the oldest first, fills what time is left.
struct KindRule {
  bool forward_first = false;  // else the input gradient
  bool room_is_urgent = false;
  RankBy forward = RankBy::kDeepest;
  RankBy input_grad = RankBy::kMicro;
};

// All kinds on one time axis: micro-batches start a period apart, times
// `pace`, and each action is due when its micro-batch would come by unhindered.
struct TimeRule {
  double pace = 1;
  double input_delay = 0;   // of I, in passes through all forwards
  double weight_delay = 0;  // of W after its I, in the same; or
  bool weight_last = false;
  bool room_is_urgent = false;
};

void set_keys(const Problem& problem, const KindRule& rule, ListPolicy& policy);
void set_keys(const Problem& problem, const TimeRule& rule, ListPolicy& policy);

// The most promising first.
[[nodiscard]] std::vector<KindRule> kind_rules();
[[nodiscard]] std::vector<TimeRule> time_rules();

}  // namespace chimera::ordering
