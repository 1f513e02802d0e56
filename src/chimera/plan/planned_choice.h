// The best planned order over many layouts. A search takes up to seconds, so
// layouts go through three rounds: all that no bound rules out are judged by
// orders of fixed rules, under several caps; a short search goes on from the
// best of those; and the search that `simulate` and `train` use decides
// between the few that are left.
#pragma once

#include <optional>
#include <vector>

#include "chimera/plan/candidate_judge.h"

namespace chimera {

struct PlannedChoice {
  std::optional<Plan> fitting;  // with its order
  std::optional<Plan> any;      // best without the memory limit
  std::optional<Plan> most_frugal;
  int judged = 0;  // layouts
};

// REQUIRES: `layouts` are of a scheme whose order depends on costs, without a
// cap; the judge's request asks for the simulator.
[[nodiscard]] PlannedChoice choose_planned(
    const std::vector<const Candidate*>& layouts, CandidateJudge& judge);

}  // namespace chimera
