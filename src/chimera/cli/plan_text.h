// Plans as a reader wants them: the winner, the runners-up, what each loses
// to, and what would change the choice; and as JSON.
#pragma once

#include <optional>
#include <string>

#include "chimera/plan/plan.h"

namespace chimera {

struct PlanHeadline {
  std::string model;                 // as it was asked for
  std::string profile;               // "p100 (built in)"
  std::string block_times;           // where those of a block come from
  std::optional<double> peak_flops;  // of a worker, where it is known
};

[[nodiscard]] std::string plan_text(const PlanHeadline& headline,
                                    const PlanRequest& request,
                                    const PlanReport& report);

// The contract's "plans", with more fields than it asks for.
[[nodiscard]] std::string plan_json(const PlanRequest& request,
                                    const PlanReport& report);

}  // namespace chimera
