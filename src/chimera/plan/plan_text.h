// Prints plans: the winner, the runners-up, why each is slower, and what would
// change the choice. Also as JSON.
#pragma once

#include <optional>
#include <string>

#include "chimera/plan/plan.h"

namespace chimera {

struct PlanHeadline {
  std::string model;                 // as typed
  std::string profile;               // "p100 (built in)"
  std::string block_times;           // source of the blocks' times
  std::optional<double> peak_flops;  // peak of one worker, if known
};

[[nodiscard]] std::string plan_text(const PlanHeadline& headline,
                                    const PlanRequest& request,
                                    const PlanReport& report);

// The output of `plan --format json`.
[[nodiscard]] std::string plan_json(const PlanRequest& request,
                                    const PlanReport& report);

}  // namespace chimera
