// Checks what the lists of a schedule must contain in any order, by counting:
// the first half of the oracle (brute_force.h). The second half runs the lists.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera::testing::brute_force {

using Errors = std::vector<std::string>;

enum class Kind { kLowered, kComputeOnly };

// The contribution of one micro-batch (or part of it) to a value of a stage: a
// gradient, or a count of actions. A tally is right if it holds every share
// exactly once.
struct Share {
  int stage = 0;
  int micro = 0;
  int part = 0;

  auto operator<=>(const Share&) const = default;
};
using Tally = std::map<Share, int>;

void expect_once(const Tally& got, const std::set<Share>& want,
                 const std::string& what, Errors& errors);

// The shares of one stage: of every micro-batch, or of `micro` only.
[[nodiscard]] std::set<Share> shares_of(const Schedule& s, int stage, int micro,
                                        int parts);

// The update rule of a scheme. Asynchronous schemes are recognised by their
// names, "pipedream" and "pipedream-2bw".
[[nodiscard]] bool updates_each_micro(const Schedule& s);
[[nodiscard]] bool keeps_two_versions(const Schedule& s);
[[nodiscard]] bool is_synchronous(const Schedule& s);

[[nodiscard]] bool within(int value, int end);
// The stage at the other end of a message.
[[nodiscard]] int other_stage(const Action& a);
// The pipe of every micro-batch, taken from its first forward in the lists.
[[nodiscard]] std::vector<int> find_pipes(const Schedule& s);
[[nodiscard]] std::set<int> stages_on(const Schedule& s, int worker);
[[nodiscard]] std::set<int> stages_in(const SumGroup& group);

[[nodiscard]] std::string describe(int worker, int step, const Action& a);
[[nodiscard]] std::string describe(const Share& share);

template <typename Visit>
void for_each_action(const Schedule& s, const Visit& visit) {
  for (int worker = 0; worker < s.workers(); ++worker) {
    for (const Action& action : s.actions[worker]) visit(worker, action);
  }
}

// False if the schedule cannot run at all: sizes or fields are out of range.
[[nodiscard]] bool check_sense(const Schedule& s, Kind kind, const Costs& costs,
                               Errors& errors);

// Checks that every action is on its worker exactly once and that every group
// is complete. REQUIRES: check_sense returned true.
void check_contents(const Schedule& s, Kind kind, Errors& errors);

}  // namespace chimera::testing::brute_force
