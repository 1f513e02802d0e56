// Fixed rules that set the keys of list scheduling. With F = I = W, free
// messages and a cap of D the best of them meets the lower bound on every
// placement tried (docs/planned-orders.md has the table), without any search.
#pragma once

#include <vector>

#include "chimera/schedule/list_scheduling/list_scheduler.h"

namespace chimera::ordering {

// How actions of one kind are ranked; ties go to the deepest stage, or to the
// lowest micro-batch.
enum class RankBy {
  kMicro,       // counted over all pipes
  kNumber,      // counted in each pipe
  kDeepest,     // stage first
  kShallowest,  // stage first
  kDiagonal,    // a micro-batch counts as much as four workers' stages
};

// Ranks by kind. W, the oldest first, fills the remaining time.
struct KindRule {
  bool forward_first = false;  // else input gradients first
  bool room_is_urgent = false;
  RankBy forward = RankBy::kDeepest;
  RankBy input_grad = RankBy::kMicro;
};

// Ranks all kinds by due time: micro-batches enter `pace` periods apart, and an
// action is due when its micro-batch would arrive if nothing delayed it.
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
