// Fixed rules that set the keys of list scheduling. With F = I = W, free
// messages and a cap of D, the best of them reaches the lower bound on every
// placement tried, without any search (docs/planned-orders.md has the table).
#pragma once

#include <vector>

#include "chimera/schedule/list_scheduling/list_scheduler.h"

namespace chimera::ordering {

// How actions of one kind are ranked. Ties go to the deepest stage, or to the
// lowest micro-batch.
enum class RankBy {
  kMicro,       // by number over all pipes
  kNumber,      // by number within the pipe
  kDeepest,     // deepest stage first
  kShallowest,  // shallowest stage first
  kDiagonal,    // by micro-batch plus stage / (4 chunks)
};

// Ranks actions by kind. W actions, oldest first, fill the remaining time.
struct KindRule {
  bool forward_first = false;  // false: input gradients first
  bool room_is_urgent = false;
  RankBy forward = RankBy::kDeepest;
  RankBy input_grad = RankBy::kMicro;
};

// Ranks all actions by due time: micro-batches enter `pace` periods apart, and
// an action is due when its micro-batch would arrive without delays.
struct TimeRule {
  double pace = 1;
  double input_delay = 0;   // delay of I, in forward passes over all stages
  double weight_delay = 0;  // delay of W after its I, in forward passes; or
  bool weight_last = false;
  bool room_is_urgent = false;
};

void set_keys(const Problem& problem, const KindRule& rule, ListPolicy& policy);
void set_keys(const Problem& problem, const TimeRule& rule, ListPolicy& policy);

// All kind rules, the most promising first.
[[nodiscard]] std::vector<KindRule> kind_rules();
[[nodiscard]] std::vector<TimeRule> time_rules();

}  // namespace chimera::ordering
