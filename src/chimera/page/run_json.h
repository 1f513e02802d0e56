// A run as the page's script takes it.
#pragma once

#include <string>

#include "chimera/page/metrics.h"
#include "chimera/page/run_record.h"

namespace chimera {

// All of it. `version` comes back with every question for news.
[[nodiscard]] std::string run_json(const RunRecord& record,
                                   const Metrics& metrics,
                                   const std::string& version = "");

// What changes while it runs: state, facts, marks, and the curves' points from
// the group of step `from` on.
[[nodiscard]] std::string update_json(const RunRecord& record,
                                      const Metrics& metrics, int from);

// [{"key","title","unit"}] of all curves that there are.
[[nodiscard]] std::string curve_names_json();

}  // namespace chimera
