// A run as JSON for the page's script.
#pragma once

#include <string>

#include "chimera/page/metrics.h"
#include "chimera/page/run_record.h"

namespace chimera {

// The whole run. `version` is returned with every request for updates.
[[nodiscard]] std::string run_json(const RunRecord& record,
                                   const Metrics& metrics,
                                   const std::string& version = "");

// The members that change while it runs: state, facts, marks, and the points of
// curves from the group of step `from` on.
[[nodiscard]] std::string update_json(const RunRecord& record,
                                      const Metrics& metrics, int from);

// [{"key","title","unit"}] of all existing curves.
[[nodiscard]] std::string curve_names_json();

}  // namespace chimera
