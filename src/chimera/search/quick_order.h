// An order for given costs without a search, to compare many layouts.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/schedule/list_scheduling/problem.h"
#include "chimera/schedule/schedule.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

// The best of a few fixed rules for one step. REQUIRES: `spec` is legal and of
// a scheme whose order depends on costs; one cost per stage. ENSURES: the
// schedule is compute-only, validates clean and stays within the cap.
[[nodiscard]] Schedule quick_order(const ScheduleSpec& spec, const Costs& costs,
                                   bool recompute);

// The same for the work of `layout`, whatever its order.
// REQUIRES: the cap leaves room for one activation of every stage that a worker
// holds.
[[nodiscard]] Schedule quick_order(const Schedule& layout, const Costs& costs,
                                   const ordering::ProblemOptions& options);

}  // namespace chimera
