// What `check` prints, on the command line and in the playground.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/schedule/schedule.h"
#include "chimera/schedule/validate.h"

namespace chimera {

// The line about a schedule without violations.
[[nodiscard]] std::string check_summary(const Schedule& schedule);

// Each violation, with the action among its neighbours.
[[nodiscard]] std::string check_text(const Schedule& schedule,
                                     const std::vector<Violation>& violations);

// `errors` are the mistakes found in reading. If there are any, there is no
// schedule and there are no violations.
[[nodiscard]] std::string check_json(const Diagnostics& errors,
                                     const std::vector<Violation>& violations);

}  // namespace chimera
