// Rules about V, which settles the updates of the step before.
//
// If the vote asks for other updates, every worker undoes its own, applies them
// as voted, drops what it has done since, and runs its list again up to V. This
// is exact if what stands before V
//   - leaves the gradients of the step before as they are: no backward, and no
//     sum, vote or update;
//   - is a consistent cut: a message is sent and posted before V, or sent and
//     posted after it. What arrives before V is then sent before V, and what a
//     worker drops will certainly arrive.
//
// V waits for nothing of its own round, so it adds nothing to the wait graph.
#include <algorithm>

#include "chimera/schedule/validate_rules.h"

namespace chimera::validating {

void Rules::check_same_side(int send, int post) {
  const int sender = where(send).worker;
  const int receiver = where(post).worker;
  if (verdict_at_[sender] == kNone || verdict_at_[receiver] == kNone) return;
  const bool is_sent_before = send < verdict_at_[sender];
  if (is_sent_before == (post < verdict_at_[receiver])) return;
  report("E306", send,
         std::string("stands ") + (is_sent_before ? "before" : "behind") +
             " V, and the post of its receive does not: " + name(post));
}

void Rules::check_verdicts() {
  const bool has_any =
      std::any_of(verdict_at_.begin(), verdict_at_.end(),
                  [](int verdict) { return verdict != kNone; });
  if (!has_any) return;
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    check_verdict(worker);
  }
}

void Rules::check_verdict(int worker) {
  const int verdict = verdict_at_[worker];
  if (verdict == kNone) {
    report_missing("E307", worker, {.op = Op::kV, .step = -1},
                   "V is missing, which other workers have");
    return;
  }
  if (!vote_gates_updates(schedule_.actions[worker])) {
    report("E306", verdict, "needs a vote that stands before the updates");
    return;
  }
  for (int node = first_node_[worker]; node < verdict; ++node) {
    const Op op = at(node).op;
    if (bad_[node] || op == Op::kF || op == Op::kR || is_message(op)) continue;
    report("E306", node,
           "stands before V, which may need the gradients of the step before");
  }
}

}  // namespace chimera::validating
